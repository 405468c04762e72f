#!/usr/bin/env python3
"""What two peers do with each other's changes: eurekad with eurekad, and with a real Java server on either side.

    tests/interop/setup                       # once: builds the Java server
    tests/interop/pairs.py [BINARY]           # $EUREKAD_BIN or target/ci/eurekad by default

For each pair every kind of change is made at one side and looked for at the other, both ways; then one side is
restarted and must have the other's registry. Last, a peer whose URL holds a password. Ends with `N passed, N failed`; exits 1 if a check failed.
"""
import base64
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from http.server import ThreadingHTTPServer
from typing import Callable, Optional
from urllib.parse import quote

import server

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "golden"))
import peer_sink  # noqa: E402
from cases import DIRTY, inst, wrap  # noqa: E402

CACHE = os.path.abspath(os.environ.get("INTEROP_CACHE") or os.path.join(HERE, "..", "..", "target", "interop"))
CHECK_WITHIN_S = 30
JAVA_WITHIN_S = 120

# The Java server knows itself in a peer list by the host of a URL alone: so Java is at one name of this machine, and
# what it is to take for a peer is at another.
HOSTS = {"java": "localhost", "eurekad": "127.0.0.1"}

passed = failed = 0


def check(what: str, holds: Callable[[], bool]) -> None:
    global passed, failed
    began = time.monotonic()
    while not (ok := holds()) and time.monotonic() < began + CHECK_WITHIN_S:
        time.sleep(0.01)
    passed, failed = passed + ok, failed + (not ok)
    print(f"{'ok   ' if ok else 'FAIL '} {what} ({(time.monotonic() - began) * 1000:.0f} ms)", flush=True)


class Peer:
    """One side of a pair."""

    def __init__(self, kind: str, program: str, folder: str) -> None:
        self.kind, self.program, self.port = kind, program, server.free_port()
        self.url = f"http://{HOSTS[kind]}:{self.port}/eureka/"
        self.log = open(os.path.join(folder, f"{kind}-{self.port}.log"), "ab")  # noqa: SIM115
        self.process: Optional[subprocess.Popen] = None

    def start(self, other: "Peer") -> None:
        """Starts it without waiting: two that copy from each other need each other."""
        peers = f"{self.url},{other.url}"
        if self.kind == "eurekad":
            command = [self.program, "--port", str(self.port), "--bind", server.HOST, "--peers", peers,
                       "--eureka.server.use-read-only-response-cache=false"]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
            return
        jar = os.path.join(CACHE, "java-server", "interop-java-server.jar")
        env = dict(os.environ, PORT=str(self.port), PEERS=peers, HOSTNAME_OVERRIDE=HOSTS["java"], REGISTER="true",
                   FETCH="true", READ_ONLY_CACHE="false")
        command = ["java", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-jar", jar]
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def wait_until_open(self) -> None:
        deadline = time.monotonic() + JAVA_WITHIN_S
        while server.ask(self.port, "GET", "/eureka/apps", timeout_s=2)[0] != 200:
            if self.process is None or self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"the {self.kind} server does not open:\n{server.tail(self.log.name)}")
            time.sleep(0.1)

    def stop(self) -> None:
        if self.process:
            server.stop(self.process)
            self.process = None

    def send(self, method: str, path: str, body: Optional[str] = None) -> int:
        return server.ask(self.port, method, "/eureka" + path, body)[0]

    def look(self, app: str) -> Optional[dict]:
        status, raw = server.ask(self.port, "GET", f"/eureka/apps/{app}/x-1")
        return json.loads(raw)["instance"] if status == 200 else None

    def replica_delete(self, app: str) -> None:
        """Loses an instance, as a peer may: a cancellation that it tells nobody."""
        import http.client
        conn = http.client.HTTPConnection(server.HOST, self.port, timeout=10)
        conn.request("DELETE", f"/eureka/apps/{app}/x-1", headers={"x-netflix-discovery-replication": "true"})
        conn.getresponse().read()
        conn.close()


def one_way(a: Peer, b: Peer, app: str) -> None:
    """Every kind of change at `a`, looked for at `b`."""
    way, i = f"{a.kind} to {b.kind}:", f"/apps/{app}/x-1"

    def seen(field: str) -> object:
        return (b.look(app) or {}).get(field)

    a.send("POST", f"/apps/{app}", wrap(inst(app, "x-1")))
    check(f"{way} a registration arrives", lambda: b.look(app) is not None)
    a.send("PUT", f"{i}/status?value=OUT_OF_SERVICE&lastDirtyTimestamp={DIRTY + 1}")
    check(f"{way} an override arrives",
          lambda: (seen("status"), seen("overriddenStatus")) == ("OUT_OF_SERVICE", "OUT_OF_SERVICE"))
    a.send("DELETE", f"{i}/status?value=UP&lastDirtyTimestamp={DIRTY + 2}")
    check(f"{way} its removal arrives", lambda: seen("status") == "UP")
    a.send("PUT", f"{i}/metadata?colour=blue")
    a.send("PUT", f"{i}?status=UP&lastDirtyTimestamp={DIRTY + 2}")
    check(f"{way} new metadata arrives", lambda: (seen("metadata") or {}).get("colour") == "blue")  # type: ignore

    def renewed() -> int:
        return (seen("leaseInfo") or {}).get("lastRenewalTimestamp", 0)  # type: ignore

    before = renewed()
    time.sleep(0.2)  # so that the next renewal shows another time
    # Once: a Java server that is beaten without pause replaces what it has queued each time, and sends nothing.
    a.send("PUT", f"{i}?status=UP&lastDirtyTimestamp={DIRTY + 2}")
    check(f"{way} a heartbeat arrives", lambda: renewed() > before)
    b.replica_delete(app)
    a.send("PUT", f"{i}?status=UP&lastDirtyTimestamp={DIRTY + 2}")
    check(f"{way} a heartbeat brings back what the peer lost", lambda: b.look(app) is not None)
    a.send("DELETE", i)
    check(f"{way} a cancellation arrives", lambda: b.look(app) is None)


def pair(kinds: tuple[str, str], program: str, folder: str) -> None:
    a, b = Peer(kinds[0], program, folder), Peer(kinds[1], program, folder)
    try:
        a.start(b)
        b.start(a)
        a.wait_until_open()
        b.wait_until_open()
        one_way(a, b, "PEER-AB")
        one_way(b, a, "PEER-BA")
        for id_, over in (("x-1", False), ("y", True)):
            a.send("POST", "/apps/KEPT", wrap(inst("KEPT", id_)))
            if over:
                a.send("PUT", f"/apps/KEPT/{quote(id_)}/status?value=OUT_OF_SERVICE")
        check(f"{b.kind} has what {a.kind} has", lambda: b.look("KEPT") is not None)
        b.stop()
        b.start(a)
        b.wait_until_open()
        check(f"a {b.kind} that starts again has copied the registry from {a.kind}", lambda: b.look("KEPT") is not None)
        # A Java server copies only what is UP; the rest comes when its client is next heard.
        a.send("PUT", f"/apps/KEPT/y?status=UP&lastDirtyTimestamp={DIRTY}")
        check("overrides and all", lambda: (lambda s, r: s == 200 and json.loads(r)["instance"]["status"])(
            *server.ask(b.port, "GET", "/eureka/apps/KEPT/y")) == "OUT_OF_SERVICE")
    finally:
        a.stop()
        b.stop()


class Vanishing(peer_sink.Sink):
    """A recorder that hangs up on everybody once it has vanished."""

    vanished = False

    def parse_request(self) -> bool:
        parsed = super().parse_request()
        self.close_connection |= Vanishing.vanished
        return parsed and not Vanishing.vanished


def credentials(program: str, folder: str) -> None:
    """A peer whose URL holds a password gets it with every request, and nobody else sees it."""
    port, peer = server.free_port(), ThreadingHTTPServer((server.HOST, 0), Vanishing)
    threading.Thread(target=peer.serve_forever, daemon=True).start()
    url = f"http://user:p%40ss@{server.HOST}:{peer.server_port}/eureka/"
    path = os.path.join(folder, f"credentials-{port}.log")
    with open(path, "ab") as log:
        node = server.start(program, port, log, f"--peers={url}", "--eurekad.log.filter=trace")
        try:
            server.ask(port, "POST", "/eureka/apps/SECRET", wrap(inst("SECRET", "x-1")))
            check("a peer with a password is asked for its registry",
                  lambda: any(seen["request"]["method"] == "GET" for seen in peer_sink.SEEN))
            check("a peer with a password is told of a registration",
                  lambda: any("SECRET" in seen["request"]["body"] for seen in peer_sink.SEEN))
            sent = [seen["request"] for seen in peer_sink.SEEN]
            expected = "Basic " + base64.b64encode(b"user:p@ss").decode()
            check(f"each of {len(sent)} requests to it has the password",
                  lambda: all(request["headers"].get("authorization") == expected for request in sent))
            # What is said of a peer is said most when it is gone.
            Vanishing.vanished = True
            server.ask(port, "POST", "/eureka/apps/SECRET", wrap(inst("SECRET", "x-2")))
            gone = f"http://{server.HOST}:{peer.server_port}/eureka/,"
            check("a peer with a password is shown when it is gone", lambda: json.loads(
                server.ask(port, "GET", "/eureka/status")[1])["applicationStats"]["unavailable-replicas"] == gone)
            secret = re.compile("p@ss|p%40ss|" + re.escape(expected.split()[1]))
            pages = {page: server.ask(port, "GET", page)[1].decode() for page in ("/", "/eureka/status", "/metrics")}
            showing = [page for page, text in pages.items() if secret.search(text)]
            check(f"no page shows the password {' '.join(showing)}".rstrip(), lambda: not showing)
        finally:
            server.stop(node)
            peer.shutdown()
    with open(path, encoding="utf-8", errors="replace") as lines:
        showing = [line for line in lines if secret.search(line)]
    check(f"no line of the log shows the password {''.join(showing[:3])}".rstrip(), lambda: not showing)


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the servers are stopped then too
    program = server.binary(sys.argv[1] if len(sys.argv) > 1 else None)
    folder = tempfile.mkdtemp(prefix="eurekad-pairs-")
    for kinds in (("eurekad", "eurekad"), ("eurekad", "java"), ("java", "eurekad")):
        print(f"-- {kinds[0]} and {kinds[1]}", flush=True)
        pair(kinds, program, folder)
    print("-- a password in a peer's URL", flush=True)
    credentials(program, folder)
    if failed:
        print(f"the servers' logs are in {folder}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
