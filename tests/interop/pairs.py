#!/usr/bin/env python3
"""What two peers do with each other's changes: eurekad with eurekad, and with a real Java server on either side.

    tests/interop/setup                       # once: builds the Java server
    tests/interop/pairs.py [BINARY]           # $EUREKAD_BIN or target/ci/eurekad by default

For each pair every kind of change is made at one side and looked for at the other, both ways; then one side is
restarted and must have the other's registry. Last, a peer whose URL holds a password. Ends with `N passed, N failed`;
exits 1 if a check failed.
"""
import base64
import json
import os
import re
import signal
import sys
import tempfile
import threading
import time
from http.server import ThreadingHTTPServer
from urllib.parse import quote

import checks
import server
from checks import check
from node import Node

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "golden"))
import peer_sink  # noqa: E402
from cases import DIRTY, inst, wrap  # noqa: E402

# The Java server knows itself in a peer list by the host of a URL alone: so Java is at one name of this machine, and
# what it is to take for a peer is at another.
HOSTS = {"java": "localhost", "eurekad": "127.0.0.1"}


def one_way(a: Node, b: Node, app: str) -> None:
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
    both = a, b = [Node(kind, program, folder, HOSTS[kind], server.free_port()) for kind in kinds]
    for node in both:
        node.settings["READ_ONLY_CACHE"] = "false"
    try:
        a.start(both)
        b.start(both)
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
        b.start(both)
        b.wait_until_open()
        check(f"a {b.kind} that starts again has copied the registry from {a.kind}", lambda: b.look("KEPT") is not None)
        # A Java server copies only what is UP; the rest comes when its client is next heard.
        a.send("PUT", f"/apps/KEPT/y?status=UP&lastDirtyTimestamp={DIRTY}")
        check("overrides and all", lambda: b.status("KEPT", "y") == "OUT_OF_SERVICE")
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
    ended = False
    try:
        for kinds in (("eurekad", "eurekad"), ("eurekad", "java"), ("java", "eurekad")):
            print(f"-- {kinds[0]} and {kinds[1]}", flush=True)
            pair(kinds, program, folder)
        print("-- a password in a peer's URL", flush=True)
        credentials(program, folder)
        ended = True
    finally:
        code = checks.end(folder, ended)
    return code


if __name__ == "__main__":
    sys.exit(main())
