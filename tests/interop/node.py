"""A registry server of either kind at one address, set up by the Java server's file: eurekad reads it as it stands."""
import http.client
import json
import os
import re
import subprocess
import sys
import time
from typing import Optional

import server

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.path.abspath(os.environ.get("INTEROP_CACHE") or os.path.join(HERE, "..", "..", "target", "interop"))
# The file that is inside the Java server's jar.
CONFIG = os.path.join(HERE, "server", "java", "src", "main", "resources", "application.yml")
OPENS_WITHIN_S = 120


class Node:
    """What is at a host and a port; of which kind, may change. Its settings are the variables that CONFIG names."""

    def __init__(self, kind: str, program: str, folder: str, host: str, port: int) -> None:
        self.kind, self.program, self.host, self.port = kind, program, host, port
        self.url = f"http://{host}:{port}/eureka/"
        self.log = os.path.join(folder, f"{host}-{port}.log")
        self.settings: dict[str, str] = {}
        self.process: Optional[subprocess.Popen] = None

    def __str__(self) -> str:
        return f"{self.kind} at {self.host}"

    def start(self, peers: list["Node"]) -> None:
        """Starts it without waiting: two that copy from each other need each other."""
        env = dict(os.environ, PORT=str(self.port), BIND=server.HOST if self.host == "localhost" else self.host,
                   PEERS=",".join(p.url for p in peers), HOSTNAME_OVERRIDE=self.host, REGISTER="true", FETCH="true",
                   **self.settings)
        if self.kind == "eurekad":
            command = [self.program, "--config", CONFIG]
        else:
            jar = os.path.join(CACHE, "java-server", "interop-java-server.jar")
            command = ["java", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-jar", jar]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def wait_until_open(self) -> None:
        """Until reads are answered: what `/health/ready` tells of eurekad, and nothing tells of the Java server."""
        deadline = time.monotonic() + OPENS_WITHIN_S
        while self.get("/eureka/apps", timeout_s=2)[0] != 200:
            if self.process is None or self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"the {self} does not open:\n{server.tail(self.log)}")
            time.sleep(0.1)

    def stop(self) -> None:
        if self.process:
            server.stop(self.process)
            self.process = None

    def get(self, path: str, timeout_s: float = 10) -> tuple[int, bytes]:
        return server.ask(self.port, "GET", path, timeout_s=timeout_s, host=self.host)

    def send(self, method: str, path: str, body: Optional[str] = None) -> int:
        return server.ask(self.port, method, "/eureka" + path, body, host=self.host)[0]

    def look(self, app: str, id_: str = "x-1") -> Optional[dict]:
        status, raw = self.get(f"/eureka/apps/{app}/{id_}")
        return json.loads(raw)["instance"] if status == 200 else None

    def status(self, app: str, id_: str) -> Optional[str]:
        return (self.look(app, id_) or {}).get("status")

    def has_renewed(self, app: str, id_: str) -> bool:
        lease = (self.look(app, id_) or {}).get("leaseInfo", {})
        return lease.get("lastRenewalTimestamp", 0) > lease.get("registrationTimestamp", 0)

    def replica_delete(self, app: str) -> None:
        """Loses an instance, as a peer may: a cancellation that it tells nobody."""
        conn = http.client.HTTPConnection(self.host, self.port, timeout=10)
        conn.request("DELETE", f"/eureka/apps/{app}/x-1", headers={"x-netflix-discovery-replication": "true"})
        conn.getresponse().read()
        conn.close()

    def peer_kinds(self) -> dict[str, str]:
        """What eurekad's page says of its peers: URL -> kind."""
        page = self.get("/")[1].decode()
        return dict(re.findall(r"<td><code>(http:[^<]*)</code>(?:<br>[^<]*)?</td>\s*<td>([^<]*)</td>", page))
