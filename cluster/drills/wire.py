"""Requests to a node or to the balancer, and the documents that clients send and read."""
import base64
import http.client
import json
import time
from dataclasses import dataclass
from typing import Any, Iterator, Optional

HOST = "127.0.0.1"
# As Java's client: it gives up after so long.
PATIENCE_S = 8

# Sent with each request, if the cluster has a user.
credentials: dict[str, str] = {}


def use_credentials(name_and_password: str) -> None:
    encoded = base64.b64encode(name_and_password.encode()).decode()
    credentials["Authorization"] = f"Basic {encoded}"


@dataclass(frozen=True)
class Answer:
    status: int  # 0: none
    body: bytes
    why: str  # in a few words, why there is none
    began: float
    took_s: float

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def is_json(self) -> bool:
        try:
            self.json()
        except ValueError:
            return False
        return True


def none(why: str) -> Answer:
    """What somebody who cannot even be asked answers."""
    return Answer(0, b"", why, time.monotonic(), 0.0)


class Line:
    """A connection that is kept, as clients do. What fails is not tried again: that is for its owner to see."""

    def __init__(self, port: int, patience_s: float = PATIENCE_S):
        self._port, self._patience_s = port, patience_s
        self._connection: Optional[http.client.HTTPConnection] = None

    def ask(self, method: str, path: str, body: Optional[str] = None, *, client: str = "") -> Answer:
        """`client`: who asks, as Java's clients say it."""
        headers = {"Accept": "application/json", "Content-Type": "application/json", **credentials}
        if client:
            headers |= {"DiscoveryIdentity-Name": "DefaultClient", "DiscoveryIdentity-Id": client}
        began = time.monotonic()
        if self._connection is None:
            self._connection = http.client.HTTPConnection(HOST, self._port, timeout=self._patience_s)
        try:
            self._connection.request(method, path, body, headers)
            answer = self._connection.getresponse()
            status, said, why = answer.status, answer.read(), ""
            if answer.will_close:
                self.close()
        except (OSError, http.client.HTTPException) as e:
            self.close()
            status, said, why = 0, b"", in_words(e)
        return Answer(status, said, why, began, time.monotonic() - began)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def in_words(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, (ConnectionResetError, BrokenPipeError, http.client.RemoteDisconnected)):
        return "connection broken"
    return f"{type(error).__name__}: {error}"


def instance(app: str, id: str, metadata: dict[str, str], beat_s: int, lease_s: int) -> str:
    """The body of a registration."""
    return json.dumps({"instance": {
        "instanceId": id, "app": app, "hostName": f"{id}.example", "ipAddr": "10.0.0.1", "status": "UP",
        "vipAddress": app.lower(), "port": {"$": 8080, "@enabled": "true"}, "metadata": metadata,
        "leaseInfo": {"renewalIntervalInSecs": beat_s, "durationInSecs": lease_s},
        "lastDirtyTimestamp": str(int(time.time() * 1000)),
        "dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"}}})


def instances_of(document: dict) -> Iterator[dict]:
    """All instances of the document of the registry, of a delta, or of one application."""
    root = document.get("applications", document)
    for app in root.get("application", []) if root is not document else [document["application"]]:
        yield from app["instance"]
