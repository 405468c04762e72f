"""The loader that all measurements share: requests, keep-alive connections, and two ways to send.

`paced` sends at fixed moments whatever the answers do (open loop), `flat_out` sends as fast as it is answered. Requests
are made before the clock runs; raw sockets under asyncio cost a fraction of what an HTTP library does.
"""
import asyncio
import json
import math
import time
from collections import Counter
from typing import Awaitable, Callable, Iterable, NamedTuple, Optional, Sequence

HOST = "127.0.0.1"
PER_APP = 20
DIRTY = 1700000000000
ANSWER_WITHIN_S = 30
now = time.perf_counter


# ---- requests --------------------------------------------------------------------------------------------------------

def app(k: int, stem: str) -> str:
    return f"{stem}-{k // PER_APP:04d}"


def instance_id(k: int) -> str:
    return f"host-{k:05d}.example:bench:8080"


def instance(k: int, stem: str, duration_s: int, status: str, dirty: int) -> dict:
    """A registration as a Spring client sends it."""
    name, host = app(k, stem), f"host-{k:05d}.example"
    return {"instance": {
        "instanceId": instance_id(k), "hostName": host, "app": name, "ipAddr": f"127.1.{k // 250 % 250}.{k % 250 + 1}",
        "status": status, "overriddenstatus": "UNKNOWN", "port": {"$": 8080, "@enabled": "true"},
        "securePort": {"$": 443, "@enabled": "false"}, "countryId": 1,
        "dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"},
        "leaseInfo": {"renewalIntervalInSecs": 30, "durationInSecs": duration_s},
        "metadata": {"management.port": "8080", "zone": "zone-a", "version": "1.2.3"},
        "homePageUrl": f"http://{host}:8080/", "statusPageUrl": f"http://{host}:8080/actuator/info",
        "healthCheckUrl": f"http://{host}:8080/actuator/health", "vipAddress": name.lower(),
        "secureVipAddress": name.lower(), "isCoordinatingDiscoveryServer": "false",
        "lastUpdatedTimestamp": str(dirty), "lastDirtyTimestamp": str(dirty)}}


def request(method: str, path: str, body: bytes = b"", *headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: {HOST}", *headers]
    if body or method in ("POST", "PUT"):
        lines.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def get(path: str, *headers: str) -> bytes:
    return request("GET", path, b"", "Accept: application/json", *headers)


def register(k: int, stem: str, duration_s: int = 3600, status: str = "UP", dirty: int = DIRTY) -> bytes:
    body = json.dumps(instance(k, stem, duration_s, status, dirty), separators=(",", ":")).encode()
    return request("POST", f"/eureka/apps/{app(k, stem)}", body, "Content-Type: application/json")


def beat(k: int, stem: str) -> bytes:
    return request("PUT", f"/eureka/apps/{app(k, stem)}/{instance_id(k)}?status=UP&lastDirtyTimestamp={DIRTY}")


def cancel(k: int, stem: str) -> bytes:
    return request("DELETE", f"/eureka/apps/{app(k, stem)}/{instance_id(k)}")


def look(k: int, stem: str) -> bytes:
    """One instance, which neither server answers from a cache."""
    return get(f"/eureka/apps/{app(k, stem)}/{instance_id(k)}")


# ---- connections -----------------------------------------------------------------------------------------------------

class Connection(asyncio.Protocol):
    """One keep-alive connection with one request in flight."""

    def __init__(self) -> None:
        self.transport: Optional[asyncio.Transport] = None
        self.waiting: Optional[asyncio.Future] = None
        self.got = bytearray()
        self.close_after = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def connection_lost(self, exc: Optional[Exception]) -> None:
        self.transport = None
        if self.waiting and not self.waiting.done():
            self.waiting.set_exception(ConnectionError("closed before it answered"))

    def data_received(self, data: bytes) -> None:
        self.got += data
        end = self.got.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self.got[:end]).lower()
        if b"transfer-encoding: chunked" in head:
            if not self.got.endswith(b"\r\n0\r\n\r\n"):
                return
            body = unchunked(self.got, end + 4)
        else:
            size = int(head.split(b"content-length:", 1)[1].split(b"\r\n")[0]) if b"content-length:" in head else 0
            if len(self.got) < end + 4 + size:
                return
            body = bytes(self.got[end + 4:])
        self.got.clear()
        self.close_after = b"connection: close" in head  # Tomcat ends a connection after 100 requests, and says so
        if self.waiting and not self.waiting.done():
            self.waiting.set_result((int(head[9:12]), body))

    async def ask(self, port: int, raw: bytes) -> tuple[int, bytes]:
        loop = asyncio.get_running_loop()
        if self.transport is None:
            self.got.clear()
            await loop.create_connection(lambda: self, HOST, port)
        if self.transport is None:
            raise ConnectionError("closed at once")
        self.waiting = loop.create_future()
        timer = loop.call_later(ANSWER_WITHIN_S, self.transport.abort)
        try:
            self.transport.write(raw)
            answer = await self.waiting
        finally:
            timer.cancel()
        if self.close_after:
            self.close()
        return answer

    def close(self) -> None:
        if self.transport:
            self.transport.close()
            self.transport = None


def unchunked(raw: bytearray, at: int) -> bytes:
    body = bytearray()
    while True:
        line = raw.index(b"\r\n", at)
        size = int(raw[at:line], 16)
        if not size:
            return bytes(body)
        body += raw[line + 2:line + 2 + size]
        at = line + 4 + size


class Pool:
    """Connections to one server; opens another when all are busy, up to `most`."""

    def __init__(self, port: int, most: int = 64) -> None:
        self.port = port
        self.idle: list[Connection] = []
        self.slots = asyncio.Semaphore(most)

    async def ask(self, raw: bytes) -> tuple[int, bytes]:
        """Status and body; (0, b"") if nobody answers."""
        async with self.slots:
            connection = self.idle.pop() if self.idle else Connection()
            try:
                return await connection.ask(self.port, raw)
            except OSError:
                connection.close()
                return 0, b""
            finally:
                self.idle.append(connection)

    def close(self) -> None:
        for connection in self.idle:
            connection.close()


# ---- ways to send ----------------------------------------------------------------------------------------------------

class Pace(NamedTuple):
    per_s: float        # what was reached
    late_ms_p99: float  # how far the loader itself was behind its plan


async def paced(per_s: float, count: int, send: Callable[[int], Awaitable[None]]) -> Pace:
    """Calls `send(0)`, `send(1)`, … at fixed moments, and returns when the last has ended."""
    tasks, late, began = [], [], now()
    for n in range(count):
        due = began + n / per_s
        await asyncio.sleep(max(0.0, due - now()))
        late.append((now() - due) * 1000)
        tasks.append(asyncio.create_task(send(n)))
    took = now() - began
    await asyncio.gather(*tasks)
    return Pace(round((count - 1) / took, 1), round(quantile(late, 0.99), 2))


async def flat_out(pool: Pool, requests: Iterable[bytes], connections: int = 16) -> tuple[float, Counter]:
    """Sends each request once, one in flight on each connection; seconds, and how often each status came."""
    todo, statuses, began = iter(requests), Counter(), now()  # type: ignore[var-annotated]

    async def worker() -> None:
        for raw in todo:
            statuses[(await pool.ask(raw))[0]] += 1

    await asyncio.gather(*(worker() for _ in range(connections)))
    return now() - began, statuses


def quantile(values: Sequence[float], q: float) -> float:
    """The smallest value that so large a part of all does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(q * len(ordered)) - 1)]


def expect_only(status: int, statuses: Counter) -> None:
    if set(statuses) != {status}:
        raise RuntimeError(f"expected {status} alone, got {dict(statuses)}")
