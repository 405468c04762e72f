"""Services that are registered, send heartbeats and are changed, and what the registry should say of them."""
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Optional
from urllib.parse import quote

from . import wire
from .journal import Journal

# Of its own for each run: what an earlier one that was broken off has left does not matter.
APP = f"DRILL-{int(time.time())}"
WORKERS = 6
# A change whose outcome is unknown is made again, as clients do, for so long.
GIVE_UP_AFTER_S = 30
AGAIN_AFTER_S = 0.2
# A node knows of a service that was registered at another one within this time, unless it is cut off.
NOT_KNOWN_AFTER_S = 2


@dataclass
class Service:
    id: str
    port: int  # where its heartbeats go: the balancer, or one node
    metadata: dict[str, str]
    status: str = "UP"
    gone: bool = False
    # A client does not register while it cancels itself.
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True)
class Done:
    """A change that was answered."""
    at: float
    service: Service
    method: str
    path: str


class Fleet:
    """`beat_s` and `lease_s` are what the services say of their leases."""

    def __init__(self, journal: Journal, balancer: int, beat_s: int = 2, lease_s: int = 90):
        self._journal, self.balancer = journal, balancer
        self._beat_s, self._lease_s = beat_s, lease_s
        self._services: dict[str, Service] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._made = 0
        self.registered_again = 0
        self._done: deque[Done] = deque(maxlen=10_000)
        self._threads = [threading.Thread(target=self._beat, args=(n,), daemon=True) for n in range(WORKERS)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Ends the heartbeats and takes all services out of the registry."""
        self._stop.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()
        line = wire.Line(self.balancer)
        for service in self._services.values():
            if not service.gone:
                line.ask("DELETE", self._path(service), client=service.id)
        line.close()

    # ---- what clients and operators do ----------------------------------------------------------

    def register(self, count: int, at: Optional[int] = None) -> list[str]:
        """New services, through the balancer or at one node."""
        made = []
        for _ in range(count):
            self._made += 1
            service = Service(f"service-{self._made}", at or self.balancer, {"number": str(self._made)})
            self._change(service, "POST", f"/eureka/apps/{APP}", (204,))
            with self._lock:
                self._services[service.id] = service
            made.append(service.id)
        return made

    def cancel(self, ids: list[str], at: Optional[int] = None) -> None:
        for service in self._by(ids):
            with service.lock:
                # 404: an attempt whose answer was lost has done it, or this node has not heard of the service. Clients take
                # it for done, and so do all nodes.
                service.gone = self._change(service, "DELETE", self._path(service), (200, 404), at)

    def set_status(self, ids: list[str], status: str, at: Optional[int] = None) -> None:
        for service in self._by(ids):
            if self._change(service, "PUT", f"{self._path(service)}/status?value={status}", (200,), at):
                service.status = status

    def set_metadata(self, ids: list[str], key: str, value: str, at: Optional[int] = None) -> None:
        for service in self._by(ids):
            with service.lock:
                if self._change(service, "PUT", f"{self._path(service)}/metadata?{key}={quote(value)}", (200,), at):
                    service.metadata = service.metadata | {key: value}

    def remove_status(self, ids: list[str]) -> None:
        for service in self._by(ids):
            if self._change(service, "DELETE", f"{self._path(service)}/status?value=UP", (200,)):
                service.status = "UP"

    def repeat(self, since: float) -> None:
        """Makes the changes once more that were answered since then: a node that died right after its answer may have told
        nobody. Services that register again do that by themselves."""
        for done in [done for done in self._done if done.at >= since and done.method != "POST"]:
            self._change(done.service, done.method, done.path, (200, 404))

    def history(self, id: str) -> list[str]:
        """What was done to a service, in words."""
        return [f"{done.at - self._journal.began:.1f} s {done.method} {done.path}" for done in list(self._done)
                if done.service.id == id]

    def living(self) -> list[str]:
        with self._lock:
            return [service.id for service in self._services.values() if not service.gone]

    def expected(self) -> dict[str, tuple[str, str]]:
        """What every node should show: id to status and metadata."""
        with self._lock:
            return {s.id: (s.status, shown(s.metadata)) for s in self._services.values() if not s.gone}

    def _by(self, ids: list[str]) -> list[Service]:
        with self._lock:
            return [self._services[id] for id in ids]

    def _path(self, service: Service) -> str:
        return f"/eureka/apps/{APP}/{service.id}"

    def _body(self, service: Service) -> str:
        return wire.instance(APP, service.id, service.metadata, self._beat_s, self._lease_s)

    def _change(self, service: Service, method: str, path: str, done: tuple[int, ...], at: Optional[int] = None) -> bool:
        """Makes a change until it is made, or until it is plain that the service is not known there."""
        port = at or service.port
        body = self._body(service) if method == "POST" else None
        began, line = time.monotonic(), wire.Line(port)
        while True:
            # Operators, who set a status, are none of Java's clients.
            answer = line.ask(method, path, body, client="" if "?" in path else service.id)
            kind = "changes" if "?" in path else {"POST": "registrations", "DELETE": "cancellations"}[method]
            self._record(kind, port, answer, answer.status in (*done, 404), idempotent=method != "POST")
            took = time.monotonic() - began
            if answer.status in done or took > GIVE_UP_AFTER_S or answer.status == 404 and took > NOT_KNOWN_AFTER_S:
                line.close()
                break
            time.sleep(AGAIN_AFTER_S)
        if answer.status in done:
            self._done.append(Done(time.monotonic(), service, method, path))
        elif answer.status != 404:
            self._journal.broken.append(f"{method} {path} was not done in {GIVE_UP_AFTER_S} s")
        return answer.status in done

    # ---- heartbeats -----------------------------------------------------------------------------

    def _beat(self, worker: int) -> None:
        lines: dict[int, wire.Line] = {}
        while not self._stop.is_set():
            began = time.monotonic()
            with self._lock:
                mine = [service for service in self._services.values() if not service.gone][worker::WORKERS]
            for n, service in enumerate(mine):
                # Spread over the interval, as those of real clients are.
                self._stop.wait(max(0.0, began + self._beat_s * n / len(mine) - time.monotonic()))
                line = lines.setdefault(service.port, wire.Line(service.port))
                with service.lock:
                    if not service.gone:
                        self._beat_once(service, line)
            self._stop.wait(max(0.05, began + self._beat_s - time.monotonic()))

    def _beat_once(self, service: Service, line: wire.Line) -> None:
        answer = line.ask("PUT", self._path(service), client=service.id)
        self._record("heartbeats", service.port, answer, answer.status in (200, 404))
        if answer.status == 404:
            self.registered_again += 1
            answer = line.ask("POST", f"/eureka/apps/{APP}", self._body(service), client=service.id)
            self._record("registrations", service.port, answer, answer.status == 204, idempotent=False)

    def _record(self, kind: str, port: int, answer: wire.Answer, ok: bool, idempotent: bool = True) -> None:
        through = port == self.balancer
        who = f"{kind} through the balancer" if through else f"{kind} at port {port}"
        self._journal.record(who, answer, ok, through_balancer=through, idempotent=idempotent)


def shown(metadata: dict[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(metadata.items()) if not key.startswith("@"))
