#!/usr/bin/env python3
"""A fleet moves: three Java servers become three eurekad, one at a time, and go back, with real clients at work.

    tests/interop/setup                       # once: builds the clients and the Java server
    tests/interop/fleet.py [BINARY]           # $EUREKAD_BIN or target/ci/eurekad by default

It is docs/migration.md, executed: its steps are the steps there, in the same order. A Java, a Python and a Node client
are watched all the while. After each step a service dies, which they may see for so long and no longer, and while both
kinds are there every kind of change is made at one and looked for at the other. Ends with `N passed, N failed`; exits 1
if a check failed.
"""
import signal
import subprocess
import sys
import tempfile
from typing import Callable

import checks
import server
from checks import check, say
from clients import Client, start_client, start_clients
from node import Node
from pairs import one_way
from watch import Watch

# The Java server knows itself in a list of peers by the host of a URL alone: each has an address of its own.
HOSTS = ("127.0.0.1", "127.0.0.2", "127.0.0.3")

# What the clients do: start_client and the drivers say so.
LEASE_S = 6
FETCH_S = {"java-client": 1, "python-client": 2, "js-client": 1}
# What both kinds are told, by the variables of the Java server's file. Self-preservation would, rightly, take three
# deaths in so small a registry for a broken network.
EVICTION_S, CACHE_S = 1, 1
SETTINGS = {
    "SELF_PRESERVATION": "false",
    "EVICTION_INTERVAL_MS": str(EVICTION_S * 1000),
    "CACHE_UPDATE_MS": str(CACHE_S * 1000),
    # A Java server that starts into an empty fleet looks again after this time, and evicts nothing until then.
    "EUREKA_SERVER_REGISTRYSYNCRETRYWAITMS": "1000",
}
# A Java server sends what it replicates in batches of this time: its peers count a lease from then on.
REPLICATION_S = 0.5
# What a busy machine may add to the sum of all that.
BUSY_S = 5


def dead_seen_s(nodes: list[Node], client: str) -> float:
    """How long a service that died may be seen: docs/migration.md has the sum."""
    doubled = 2 if any(node.kind == "java" for node in nodes) else 1
    return LEASE_S * doubled + REPLICATION_S + EVICTION_S + CACHE_S + FETCH_S[client]


def need(what: str, holds: Callable[[], bool]) -> None:
    """What has to hold before the next step: who goes on without it loses services."""
    if not check(what, holds):
        sys.exit("no step is taken from here")


class Fleet:
    def __init__(self, program: str, folder: str, processes: list[subprocess.Popen]) -> None:
        self.folder, self.processes = folder, processes
        port = server.free_port(*HOSTS)
        self.nodes = [Node("java", program, folder, host, port) for host in HOSTS]
        for node in self.nodes:
            node.settings.update(SETTINGS)
        self.urls = [node.url.rstrip("/") for node in self.nodes]
        self.clients: list[Client] = []
        self.watches: list[Watch] = []
        self.held: list[Client] = []  # services that an operator has taken out, each at a node of another kind
        self.mortals: list[tuple[Client, float]] = []  # and until when they may be seen
        self.rows: list[list[str]] = []
        self.steady_since = 0.0

    def kinds(self) -> str:
        return ", ".join(node.kind for node in self.nodes)

    def service(self, name: str) -> Client:
        """One more service: a Python client, which the others see under this name."""
        client = start_client("python", name, self.urls, self.folder, self.processes)
        for watch in self.watches:
            watch.name(client.app, client.id, client.id)
        return client

    def start(self) -> None:
        say(f"three Java servers start at port {self.nodes[0].port} of {', '.join(HOSTS)}")
        for node in self.nodes:
            node.start(self.nodes)
        for node in self.nodes:
            node.wait_until_open()
            say(f"the {node} is open")
        self.clients = start_clients(self.urls, self.folder, self.processes)
        self.watches = [Watch(client) for client in self.clients]
        for watch in self.watches:
            for client in self.clients:
                watch.name(client.app, client.id, client.name)
            watch.start()
        for watch in self.watches:
            need(f"{watch.client.name} sees all three clients",
                 lambda: all(watch.sees(c.app, c.id) == "UP" for c in self.clients))
        self.nodes_have_what_lives()
        self.steady_since = checks.now()

    def nodes_have_what_lives(self) -> None:
        for node in self.nodes:
            need(f"the {node} has all that lives",
                 lambda: all(node.status(c.app, c.id) == "UP" for c in self.clients))
        for client in self.held:
            need(f"{client.id} is out of service at every node",
                 lambda: all(node.status(client.app, client.id) == "OUT_OF_SERVICE" for node in self.nodes))

    def hold(self, at: Node) -> None:
        """An operator takes a service out; from here on it has to stay out, whichever node says so."""
        client = self.service(f"held-by-{at.kind}")
        need(f"{client.id} is known at every node",
             lambda: all(node.status(client.app, client.id) == "UP" for node in self.nodes))
        say(f"{client.id} is taken out of service at the {at}")
        at.send("PUT", f"/apps/{client.app}/{client.id}/status?value=OUT_OF_SERVICE")
        self.held.append(client)
        self.nodes_have_what_lives()

    def release(self) -> None:
        """And puts all of them back in, at the last node there is."""
        for client in self.held:
            say(f"{client.id} is put back into service at the {self.nodes[-1]}")
            self.nodes[-1].send("DELETE", f"/apps/{client.app}/{client.id}/status?value=UP")
            check(f"{client.id} is UP at every node",
                  lambda: all(node.status(client.app, client.id) == "UP" for node in self.nodes))

    def replace(self, node: Node, kind: str) -> None:
        """The step of docs/migration.md: stop one, start the other in its place, look."""
        was = str(node)
        print(f"-- {was} becomes {kind}", flush=True)
        say(f"the {was} is told to stop")
        node.stop()
        say(f"the {was} has ended")
        stopped, node.kind = checks.now(), kind
        node.start(self.nodes)
        node.wait_until_open()
        say(f"the {node} is open, {checks.now() - stopped:.1f} s later")
        self.nodes_have_what_lives()
        for other in self.nodes:
            if other.kind == "eurekad":
                need(f"the {other} knows what its peers are",
                     lambda: other.peer_kinds() == {n.url: n.kind for n in self.nodes if n is not other})

    def dies(self, service: Client) -> float:
        for watch in self.watches:
            need(f"{watch.client.name} sees {service.id}", lambda: watch.sees(service.app, service.id) == "UP")
        for node in self.nodes:  # a lease that was never renewed is not doubled
            need(f"the {node} has heard of its renewal", lambda: node.has_renewed(service.app, service.id))
        service.process.kill()
        service.process.wait()
        say(f"{service.id} is killed")
        return checks.now()

    def is_gone(self, service: Client, died: float) -> None:
        """Each client gets the time that docs/migration.md gives it."""
        row = [self.kinds()]
        longest = max(dead_seen_s(self.nodes, watch.client.name) for watch in self.watches)
        self.mortals.append((service, died + longest + BUSY_S))
        for watch in self.watches:
            name, most = watch.client.name, dead_seen_s(self.nodes, watch.client.name)
            gone = check(f"{name} no longer sees {service.id}", lambda: watch.sees(service.app, service.id) is None)
            took = watch.last_saw(service.app, service.id) - died
            if gone:
                check(f"{name} saw it for {took:.1f} s after its end, of {most} s", lambda: took <= most + BUSY_S, 0)
            row.append(f"{took:.1f} of {most:.1f} s")
        self.rows.append(row)

    def work(self) -> None:
        """What is done between two steps."""
        # An application of its own each: see the README about Java clients and applications that they do not know.
        service = self.service(f"mortal-{len(self.mortals) + 1}")
        died = self.dies(service)
        java = next((node for node in self.nodes if node.kind == "java"), None)
        eurekad = next((node for node in self.nodes if node.kind == "eurekad"), None)
        if java and eurekad:
            one_way(java, eurekad, "FROM-JAVA")
            one_way(eurekad, java, "FROM-EUREKAD")
        self.is_gone(service, died)

    def verdict(self) -> None:
        print("-- what the clients saw", flush=True)
        until = checks.now()
        for watch in self.watches:
            watch.end()
            for client in self.clients:
                spans = watch.not_up(client.app, client.id, self.steady_since)
                check(f"{watch.client.name} saw {client.name} UP all the time, for {until - self.steady_since:.0f} s"
                      + (f"; not so from {', '.join(spans)}" if spans else ""), lambda: not spans, 0)
            ghosts = [f"{mortal.id} from {span}" for mortal, until in self.mortals
                      for span in watch.seen_after(mortal.app, mortal.id, until)]
            check(f"{watch.client.name} saw none of {len(self.mortals)} dead services again"
                  + (f"; but {', '.join(ghosts)}" if ghosts else ""), lambda: not ghosts, 0)
            check(f"{watch.client.name} works still; it was looked at {watch.looks} times",
                  lambda: watch.client.process.poll() is None and watch.looks > 1, 0)
        print("\nhow long a service was seen after its end, of the longest it may be:")
        for row in [["the fleet"] + [client.name for client in self.clients]] + self.rows:
            print(f"  {row[0]:<28}" + "".join(f"{cell:>18}" for cell in row[1:]))


def scenario(fleet: Fleet) -> None:
    fleet.start()
    first, second, third = fleet.nodes

    fleet.replace(first, "eurekad")
    fleet.hold(at=second)  # a Java server
    fleet.hold(at=first)  # eurekad
    fleet.work()
    fleet.replace(second, "eurekad")
    fleet.work()
    fleet.replace(third, "eurekad")
    fleet.work()

    for node in (third, second, first):
        fleet.replace(node, "java")
        fleet.work()
    fleet.release()
    fleet.verdict()


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the children are stopped then too
    program = server.binary(sys.argv[1] if len(sys.argv) > 1 else None)
    folder = tempfile.mkdtemp(prefix="eurekad-fleet-")
    processes: list[subprocess.Popen] = []
    fleet, ended = Fleet(program, folder, processes), False
    try:
        scenario(fleet)
        ended = True
    finally:
        for process in processes:
            server.stop(process)
        for node in fleet.nodes:
            node.stop()
        code = checks.end(folder, ended)
    return code


if __name__ == "__main__":
    sys.exit(main())
