"""Looks at every node at its own port, and at the balancer's page: who answers, what each one shows, what it has counted."""
import csv
import io
import re
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import Callable, Optional

from . import wire
from .containers import Cluster, Container
from .fleet import APP, shown
from .journal import Journal

EVERY_S = 0.2
# The containers are looked up so often; asking Docker costs more than asking a node.
CONTAINERS_EVERY_S = 1.0
# What is counted in /metrics of all nodes together, over all their processes.
COUNTED = {
    "heartbeats": r'eurekad_http_requests_total\{route="/apps/\{app\}/\{id\}",method="PUT",.*\}',
    "repaired": r"eurekad_peer_repaired_total",
    "repaired unexplained": r"eurekad_peer_repaired_unexplained_total",
    "panics": r"eurekad_(?:task_panics|peer_senders_restarted)_total(?:\{[^}]*\})?",
}
MEMORY = re.compile(r"^process_resident_memory_bytes (\d+)", re.M)
# So much may be on its way at one moment, but not at the next one too.
SOME = 15
# What the nodes themselves are registered as.
OWN_APP = "EUREKA"

Shown = dict[tuple[str, str], tuple[str, str]]


@dataclass
class Seen:
    """What one node said last."""
    container: Container
    ready: bool = False
    shows: Optional[Shown] = None
    first_shown: Optional[Shown] = None
    asked: float = 0.0  # when it was asked for that
    counted: Optional[Counter] = None  # None: not asked yet
    peers: Optional[int] = None
    much: bool = False
    told_of_much: bool = False

    def notice(self, peers: int, waiting: int) -> list[str]:
        """What a node itself has noticed since it was asked last."""
        notes = []
        if self.peers is not None and peers != self.peers:
            notes.append(f"has {peers} peers that answer it, of {self.peers} before")
        if waiting > SOME and self.much and not self.told_of_much:
            self.told_of_much = True
            notes.append(f"has {waiting} services to tell its peers of")
        elif waiting == 0 and self.told_of_much:
            self.told_of_much = False
            notes.append("has told its peers everything")
        self.peers = peers
        self.much = waiting > SOME
        return notes


@dataclass(frozen=True)
class Difference:
    words: str
    ids: list[str]


@dataclass
class Memory:
    at: float
    node: str
    bytes: int


class Observer:
    def __init__(self, journal: Journal, cluster: Cluster, page: int):
        self._journal, self._cluster = journal, cluster
        self._page = page
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._nodes: dict[str, Seen] = {}
        self._watched: dict[str, threading.Thread] = {}
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._look_up, self._balancer)]
        self.in_balance: Optional[int] = None
        self.counted: Counter = Counter()
        self.memory: list[Memory] = []

    def start(self) -> None:
        self.refresh()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in [*self._threads, *self._watched.values()]:
            if thread.is_alive():
                thread.join()

    # ---- what was seen --------------------------------------------------------------------------

    def refresh(self) -> list[Container]:
        """Looks the containers up anew, and watches those that are new."""
        containers = self._cluster.containers()
        with self._lock:
            for container in containers:
                seen = self._nodes.get(container.name)
                if seen is None or seen.container.id != container.id:
                    self._nodes[container.name] = Seen(container)
                else:
                    seen.container = container
            for gone in set(self._nodes) - {container.name for container in containers}:
                del self._nodes[gone]
            for name in self._nodes:
                if name not in self._watched:
                    self._watched[name] = threading.Thread(target=self._watch, args=(name,), daemon=True)
                    self._watched[name].start()
        return containers

    def working(self) -> list[str]:
        with self._lock:
            return sorted(name for name, seen in self._nodes.items() if seen.container.works)

    def is_ready(self, name: str) -> bool:
        with self._lock:
            seen = self._nodes.get(name)
            return seen is not None and seen.container.works and seen.ready

    def peers_of(self, name: str) -> Optional[int]:
        with self._lock:
            return self._nodes[name].peers

    def first_shown(self, name: str) -> set[str]:
        """The services in the first answer to a read that a container gave."""
        with self._lock:
            return {id for app, id in self._nodes[name].first_shown or {} if app == APP}

    def differences(self, expected: dict[str, tuple[str, str]], since: float) -> list["Difference"]:
        """How what the nodes show differs, from each other and from what is expected; asked after `since`."""
        with self._lock:
            nodes = {name: seen for name, seen in self._nodes.items() if seen.container.works}
            late = [name for name, seen in nodes.items() if seen.shows is None or seen.asked < since]
            shows = {name: dict(seen.shows or {}) for name, seen in nodes.items()}
        if late:
            return [Difference(f"{name} has not answered", []) for name in sorted(late)]
        if not shows:
            return [Difference("no node works", [])]
        wrong = []
        first = min(shows)
        own = {key: value for key, value in shows[first].items() if key[0] == OWN_APP}
        wanted = {(APP, id): value for id, value in expected.items()} | own
        for name, found in sorted(shows.items()):
            lacks = [key for key in wanted if key not in found]
            extra = [key for key in found if key not in wanted]
            other = [key for key in wanted if key in found and found[key] != wanted[key]]
            for words, keys in (("lacks", lacks), ("still has", extra), ("has another state of", other)):
                if keys:
                    some = ", ".join(id for _, id in sorted(keys)[:4])
                    wrong.append(Difference(f"{name} {words} {len(keys)}: {some}{', …' if len(keys) > 4 else ''}",
                                            [id for _, id in sorted(keys)]))
        return wrong

    def wait(self, what: Callable[[], bool], within_s: float) -> Optional[float]:
        """How long it took until something held, or None."""
        began = time.monotonic()
        while not what():
            if time.monotonic() - began > within_s:
                return None
            time.sleep(0.05)
        return time.monotonic() - began

    # ---- looking --------------------------------------------------------------------------------

    def _look_up(self) -> None:
        while not self._stop.wait(CONTAINERS_EVERY_S):
            self.refresh()
            self._journal.tick()

    def _watch(self, name: str) -> None:
        line, port, rounds = None, None, 0
        while not self._stop.wait(EVERY_S):
            with self._lock:
                seen = self._nodes.get(name)
            if seen is None or not seen.container.running:
                port = None
                if seen is not None:
                    self._journal.record(f"reads at {name}", wire.none("it does not run"), False)
                continue
            if seen.container.port != port:
                port, line = seen.container.port, wire.Line(seen.container.port, patience_s=2)
            self._look_at(name, seen, line)
            if rounds % 5 == 0:
                self._count(name, seen, line)
            rounds += 1

    def _look_at(self, name: str, seen: Seen, line: wire.Line) -> None:
        ready = line.ask("GET", "/health/ready")
        if ready.status == 200 and not seen.ready:
            self._journal.say(f"{name} is ready")
        elif ready.status != 200 and seen.ready:
            words = ready.body.decode(errors="replace").strip() or ready.why
            self._journal.say(f"{name} {words if words.startswith('not ready') else f'does not answer: {words}'}")
        seen.ready = ready.status == 200
        asked, shows = time.monotonic(), {}
        for app in (APP, OWN_APP):
            answer = line.ask("GET", f"/eureka/apps/{app}")
            self._journal.record(f"reads at {name}", answer, answer.status in (200, 404))
            if answer.status == 200:
                for one in wire.instances_of(answer.json()):
                    shows[app, one["instanceId"]] = one["status"], shown(one.get("metadata") or {})
            elif answer.status != 404:
                return
        with self._lock:
            seen.shows, seen.asked = shows, asked
            if seen.first_shown is None:
                seen.first_shown = shows

    def _count(self, name: str, seen: Seen, line: wire.Line) -> None:
        answer = line.ask("GET", "/metrics")
        if answer.status != 200:
            return
        text = answer.body.decode()
        counted = Counter({what: sum(map(int, re.findall(rf"^{name} (\d+)", text, re.M))) for what, name in COUNTED.items()})
        memory = MEMORY.search(text)
        up = sum(map(int, re.findall(r"^eurekad_peer_up\{.*\} (\d)", text, re.M)))
        waiting = sum(map(int, re.findall(r"^eurekad_peer_queued\{.*\} (\d+)", text, re.M)))
        with self._lock:
            if seen.counted is not None:
                # Less than before: it is another process.
                again = any(counted[what] < seen.counted[what] for what in COUNTED)
                self.counted += counted if again else counted - seen.counted
            seen.counted = counted
            notes = seen.notice(up, waiting)
            if memory:
                self.memory.append(Memory(time.monotonic(), name, int(memory[1])))
        for note in notes:
            self._journal.say(f"{name} {note}")

    def _balancer(self) -> None:
        line = wire.Line(self._page, patience_s=2)
        while not self._stop.wait(EVERY_S):
            answer = line.ask("GET", "/;csv")
            if answer.status != 200:
                continue
            rows = csv.DictReader(io.StringIO(answer.body.decode().lstrip("# ")))
            # One that is new counts as up before it has been looked at.
            up = sum(row["pxname"] == "reads" and row["status"].startswith("UP") and "L7OK" in row["check_status"]
                     for row in rows)
            if self.in_balance is not None and up != self.in_balance:
                self._journal.say(f"the balancer has {up} node{'s' if up != 1 else ''} to send to")
            self.in_balance = up
