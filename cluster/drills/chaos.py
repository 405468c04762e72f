"""What happens in a run of chaos: everything follows from its seed."""
import math
import random
import threading
import time
from dataclasses import dataclass
from typing import Iterator

from .fleet import Fleet

# From one thing that happens to the next, in seconds.
PAUSES_S = (2.0, 9.0)
# How long each kind lasts.
LASTS_S = {"kill": (1.0, 10.0), "freeze": (1.0, 10.0), "cut": (3.0, 20.0)}
WEIGHTS = {"kill": 4, "freeze": 4, "cut": 4, "restart": 3, "scale": 1}
UNDO = {"kill": "start", "freeze": "thaw", "cut": "heal"}
NODES = (3, 5)
# A node that is back in order has what it missed, and the others what it alone knew, after so long.
SETTLES_S = 8.0
# Services change so often, and there are about so many.
CHANGES_EVERY_S = 0.4
SERVICES = (40, 80)
# A node that dies may have told nobody of what it has answered in so long.
LOST_S = 2.0


@dataclass(frozen=True, order=True)
class Step:
    at_s: float
    what: str
    node: int = 0  # by its place among them; of `scale`, how many there are to be


def plan(seed: int, seconds: float) -> list[Step]:
    """At most two nodes are in trouble at a time, and one is not: it knows everything. Nothing else happens to a node in
    trouble, since what it alone has been told would be lost with it. The number of nodes changes when none is in trouble, and
    is at last what it was."""
    chance = random.Random(seed)
    steps: list[Step] = []
    trouble: dict[int, float] = {}  # node to when it is over
    at, count = 0.0, NODES[0]
    while True:
        at += chance.uniform(*PAUSES_S)
        what = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        if what == "scale":
            at = max([at, *trouble.values()])
        if at > seconds:
            break
        trouble = {node: until for node, until in trouble.items() if until > at}
        free = [node for node in range(1, count + 1) if node not in trouble]
        if what == "scale":
            count = chance.choice([n for n in range(NODES[0], NODES[1] + 1) if n != count])
            steps.append(Step(at, what, count))
            trouble = dict.fromkeys(range(1, count + 1), at + SETTLES_S)
        elif len(trouble) < 2 and len(free) > 1:
            node = chance.choice(free)
            steps.append(Step(at, what, node))
            over = at + chance.uniform(*LASTS_S[what]) if what in UNDO else at
            if what in UNDO:
                steps.append(Step(over, UNDO[what], node))
            trouble[node] = over + SETTLES_S
    end = max([seconds, *(step.at_s for step in steps)])
    if count != NODES[0]:
        steps.append(Step(end + 1.0, "scale", NODES[0]))
    return sorted(steps)


class Changes(threading.Thread):
    """Clients that come and go, and operators. What is changed while a node stands still or is cut off is left alone until
    that one has settled: it may not know of the change, and do what was asked of it before, or what is asked of it then, to
    what it has. The last call would not be the one that counts."""

    def __init__(self, fleet: Fleet, seed: int, spared: set[str]):
        """`spared`: services that nobody changes."""
        super().__init__(daemon=True)
        self._fleet, self._chance, self._spared = fleet, random.Random(seed), spared
        self._stop_it = threading.Event()
        self._lock = threading.Lock()
        self._apart: dict[int, float] = {}  # nodes that stand still or are cut off, and until when
        self._changed: set[str] = set()
        self._out: set[str] = set()
        self.count = 0

    def run(self) -> None:
        while not self._stop_it.wait(CHANGES_EVERY_S):
            with self._lock:
                now = time.monotonic()
                self._apart = {node: until for node, until in self._apart.items() if until > now}
                if not self._apart:
                    self._changed.clear()
                self._changed |= self._change()
                self.count += 1

    def _change(self) -> set[str]:
        """Something changes; what."""
        fleet, chance = self._fleet, self._chance
        living = fleet.living()
        what = chance.choice(["come", "go", "out", "in", "metadata"])
        if len(living) < SERVICES[0] or what == "come" and len(living) < SERVICES[1]:
            return set(fleet.register(1))
        free = [id for id in living if id not in self._changed | self._spared]
        if not free:
            return set()
        id = chance.choice(free)
        if what == "go":
            fleet.cancel([id])
            self._out.discard(id)
        elif what == "out" and id not in self._out:
            fleet.set_status([id], "OUT_OF_SERVICE")
            self._out.add(id)
        elif what == "in" and id in self._out:
            fleet.remove_status([id])
            self._out.discard(id)
        else:
            fleet.set_metadata([id], "changed", str(self.count))
        return {id}

    def happened(self, step: Step) -> None:
        with self._lock:
            if step.what in ("freeze", "cut"):
                self._apart[step.node] = math.inf
            elif step.what in ("thaw", "heal"):
                self._apart[step.node] = time.monotonic() + SETTLES_S

    def killed(self, at: float) -> None:
        """Who sees that a node died looks whether what was done last has held, and does it again."""
        with self._lock:
            self._fleet.repeat(at - LOST_S)

    def end(self) -> None:
        self._stop_it.set()
        self.join()


def due(steps: list[Step]) -> Iterator[Step]:
    """Each step when its time has come. What takes long holds up all that follows."""
    last_s, last = 0.0, time.monotonic()
    for step in steps:
        time.sleep(max(0.0, last + step.at_s - last_s - time.monotonic()))
        yield step
        last_s, last = step.at_s, time.monotonic()
