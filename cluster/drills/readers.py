"""Clients that fetch the registry as Eureka's do: once whole, then what changed, and whole again when that does not fit."""
import threading
from collections import Counter
from typing import Callable

from . import wire
from .fleet import APP
from .journal import Journal

WHO = "fetches through the balancer"


def hash_code(statuses: Counter) -> str:
    return "".join(f"{status}_{count}_" for status, count in sorted(statuses.items()) if count)


class Reader(threading.Thread):
    def __init__(self, journal: Journal, balancer: int, name: str, every_s: float, stop: threading.Event,
                 always_there: Callable[[], set[str]]):
        super().__init__(name=name, daemon=True)
        self._journal, self._every_s, self._stop_it, self._always_there = journal, every_s, stop, always_there
        self._line = wire.Line(balancer)
        self._seen: dict[tuple[str, str], str] = {}
        self._whole = False
        self.whole_fetches = 0
        self.lost_sight: set[str] = set()

    def run(self) -> None:
        while not self._stop_it.wait(self._every_s):
            # What is there before the fetch begins must be in what it brings.
            there = self._always_there()
            if self._whole:
                self._fetch_delta()
            if not self._whole:
                self._fetch_all()
            if self._whole:
                self._look_for(there)

    def sees(self, ids: list[str]) -> bool:
        return all((APP, id) in self._seen for id in ids)

    def _fetch_all(self) -> None:
        answer = self._ask("/eureka/apps")
        if answer.status == 200:
            self._seen = {key(one): one["status"] for one in wire.instances_of(answer.json())}
            self._whole = True
            self.whole_fetches += 1

    def _fetch_delta(self) -> None:
        answer = self._ask("/eureka/apps/delta")
        if answer.status != 200:
            return
        delta = answer.json()
        for one in wire.instances_of(delta):
            if one["actionType"] == "DELETED":
                self._seen.pop(key(one), None)
            else:
                self._seen[key(one)] = one["status"]
        if hash_code(Counter(self._seen.values())) != delta["applications"]["apps__hashcode"]:
            self._whole = False

    def _look_for(self, there: set[str]) -> None:
        missing = {id for id in there if (APP, id) not in self._seen} - self.lost_sight
        if missing:
            self.lost_sight |= missing
            self._journal.say(f"a client does not see {', '.join(sorted(missing))} any more")

    def _ask(self, path: str) -> wire.Answer:
        answer = self._line.ask("GET", path, client=self.name)
        if answer.status == 200 and not answer.is_json:
            answer = wire.none("it is no JSON")
        self._journal.record(WHO, answer, answer.status == 200, through_balancer=True)
        return answer


def key(one: dict) -> tuple[str, str]:
    return one["app"], one["instanceId"]
