"""Watches what a client sees while it works: every change with its time, to tell afterwards what it missed."""
import json
import threading
from typing import Iterator, Optional

import server
from checks import now, say
from clients import Apps, Client

LOOK_EVERY_S = 0.1


class Watch(threading.Thread):
    """One client's eyes. The Java client is asked ten times a second, between its fetches; the others print each change
    of what they see, and every line is read."""

    def __init__(self, client: Client) -> None:
        super().__init__(daemon=True)
        self.client = client
        self.looks = 0
        self.history: list[tuple[float, Apps]] = [(now(), {})]
        self._names: dict[tuple[str, str], str] = {}  # what is told in the timeline
        self._ended = threading.Event()

    def name(self, app: str, id_: str, name: str) -> None:
        """From now on the timeline tells what this client sees of that instance."""
        self._names[app, id_] = name

    def run(self) -> None:
        with open(self.client.log, encoding="utf-8") as log:
            while not self._ended.wait(LOOK_EVERY_S):
                for apps in self._asked() if self.client.process.stdin is None else self._printed(log):
                    self.looks += 1
                    before = self.history[-1][1]
                    if apps != before:
                        self.history.append((now(), apps))
                        self._tell(before, apps)

    def end(self) -> None:
        self._ended.set()
        self.join()

    def _asked(self) -> Iterator[Apps]:
        status, body = server.ask(self.client.port, "GET", "/seen")
        if status == 200:
            yield json.loads(body)

    def _printed(self, log) -> Iterator[Apps]:
        while True:
            start, line = log.tell(), log.readline()
            if not line.endswith("\n"):
                log.seek(start)
                return
            if line.startswith('{"event": "apps"') or line.startswith('{"event":"apps"'):
                yield json.loads(line)["apps"]

    def _tell(self, before: Apps, after: Apps) -> None:
        for (app, id_), name in list(self._names.items()):
            was, is_ = before.get(app, {}).get(id_), after.get(app, {}).get(id_)
            if was != is_:
                say(f"        {self.client.name} " + (f"sees {name} {is_}" if is_ else f"no longer sees {name}"))

    def sees(self, app: str, id_: str) -> Optional[str]:
        """Its status, as this client sees it now."""
        return self.history[-1][1].get(app, {}).get(id_)

    def last_saw(self, app: str, id_: str) -> float:
        """When it was there for the last time: now, if it still is, or if it never was."""
        ends = [at for at, _ in self.history[1:]] + [now()]
        return max((end for (_, apps), end in zip(self.history, ends) if id_ in apps.get(app, {})), default=now())

    def seen_after(self, app: str, id_: str, since: float) -> list[str]:
        """From when to when it was there, after a time."""
        ends = [at for at, _ in self.history[1:]] + [now()]
        return [f"{max(at, since):.1f} to {end:.1f} s" for (at, apps), end in zip(self.history, ends)
                if end > since and id_ in apps.get(app, {})]

    def not_up(self, app: str, id_: str, since: float) -> list[str]:
        """From when to when it was not seen UP, from a time on until now."""
        spans, ends = [], [at for at, _ in self.history[1:]] + [now()]
        for (at, apps), end in zip(self.history, ends):
            if end > since and apps.get(app, {}).get(id_) != "UP":
                spans.append(f"{max(at, since):.1f} to {end:.1f} s")
        return spans
