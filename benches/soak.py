"""One node under everything that clients do, right and wrong, for minutes: does its memory stay, and does it answer?"""
import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import xml.etree.ElementTree as xml
from collections import Counter
from typing import Awaitable, Callable, Iterator

import machine
import soak_work
from load import DIRTY, get, now, register, request
from nodes import Node, Programs
from soak_work import Call

SAMPLE_S = 5
ROW_S = 30
WARM_UP_S = 120
# Below this there is hardly anything after the warm-up to compare with it.
SHORTEST_PROOF_S = 300
WINDOW_S = 30  # memory at a time is the median of so long
MOST_GROWTH_PERCENT = 5.0
MOST_GROWTH_RE_REGISTER_MIB = 2.0
# Changes and cached documents stay for less than the warm-up, so that it ends with as many as there will ever be; and
# whoever is silent is evicted at once.
FLAGS = ["--eureka.server.retention-time-in-m-s-in-delta-queue=45000",
         "--eureka.server.delta-retention-timer-interval-in-ms=5000",
         "--eureka.server.response-cache-auto-expiration-in-seconds=45",
         "--eureka.server.enable-self-preservation=false", "--eureka.server.eviction-interval-timer-in-ms=5000"]
# Case P105: so many instances, each so often.
RE_REGISTERING, RE_REGISTER_S = 18, 0.1


class Soak:
    """A node under load, what it answered, and the memory that it had."""

    def __init__(self, node: Node, seconds: float) -> None:
        self.node, self.seconds, self.began = node, seconds, now()
        self.statuses: Counter = Counter()
        self.unexpected: Counter = Counter()
        self.broken = 0
        self.samples: list[tuple[float, float]] = []  # seconds, MiB

    def left(self) -> float:
        return self.began + self.seconds - now()

    async def send(self, chore: str, wanted: Call) -> None:
        status, _ = await self.node.pool.ask(wanted.raw)
        self.statuses[status] += 1
        if status not in wanted.codes:
            self.unexpected[chore, status] += 1

    async def keep_on(self, chore: str, calls: Iterator[Call], per_s: float) -> None:
        """Sends one after the other, at fixed moments as long as the node keeps up."""
        due = now()
        while self.left() > 0:
            await self.send(chore, next(calls))
            due = max(due + 1 / per_s, now() - 1)
            await asyncio.sleep(max(0.0, due - now()))

    async def break_off(self, chance: random.Random) -> None:
        while self.left() > 0:
            await soak_work.break_off(self.node.port, chance)
            self.broken += 1
            await asyncio.sleep(1 / soak_work.BROKEN_PER_S)

    async def watch(self) -> None:
        """Samples memory, and prints a row now and then."""
        print(f"{'minute':>7} {'resident MiB':>13} {'instances':>10} {'evicted':>9} {'answers/s':>10} "
              f"{'2xx':>8} {'4xx':>7} {'503':>5} {'unexpected':>11}")
        row_due, answers = ROW_S, 0
        while self.left() > 0:
            await asyncio.sleep(min(SAMPLE_S, max(0.0, self.left())))
            if self.node.process is None or self.node.process.poll() is not None:
                raise RuntimeError("the node has ended")
            at = now() - self.began
            self.samples.append((at, machine.process_mib(self.node.process.pid)))
            if at >= row_due or self.left() <= 0:
                since = ROW_S - row_due + at
                total = sum(self.statuses.values())
                counted = await self.node.metrics()
                by_class = Counter({c: sum(n for s, n in self.statuses.items() if s // 100 == c) for c in (2, 4)})
                print(f"{at / 60:7.1f} {self.samples[-1][1]:13.1f} {counted.get('eurekad_instances', 0):10.0f} "
                      f"{counted.get('eurekad_evictions_total', 0):9.0f} {(total - answers) / since:10.0f} "
                      f"{by_class[2]:8} {by_class[4]:7} {self.statuses[503]:5} {self.unexpected.total():11}", flush=True)
                row_due, answers = at + ROW_S, total

    def memory_at(self, from_s: float, to_s: float) -> float:
        return statistics.median(mib for at, mib in self.samples if from_s <= at <= to_s)

    async def still_answers(self) -> list[str]:
        """What of the node does not answer as it should, afterwards."""
        faults = []
        status, body = await self.node.pool.ask(get("/eureka/apps"))
        listed = status == 200 and len(json.loads(body)["applications"]["application"])
        as_xml, document = await self.node.pool.ask(request("GET", "/eureka/apps", b"", "Accept: application/xml"))
        if not listed or as_xml != 200 or len(xml.fromstring(document).findall("application")) != listed:
            faults.append(f"the registry is not served in both formats: {status}, {as_xml}")
        if (await self.node.pool.ask(get("/health/ready")))[0] != 200:
            faults.append("it is not ready")
        return faults


async def everything(soak: Soak) -> None:
    chores = [soak.keep_on(work.__name__, work(random.Random(work.__name__)), per_s)
              for work, per_s in soak_work.RATES.items()]
    await asyncio.gather(soak.watch(), soak.break_off(random.Random(1)), *chores)


async def re_register(soak: Soak) -> None:
    """Case P105: a few instances that register again and again, and one client that reads the changes."""
    def again(k: int) -> Iterator[Call]:
        n = 0
        while True:
            n += 1
            yield soak_work.call(register(k, "AGAIN", 90, "UP", DIRTY + n), 204)

    def reads() -> Iterator[Call]:
        while True:
            yield soak_work.call(get("/eureka/apps/delta"), 200)

    chores = [soak.keep_on("register", again(k), 1 / RE_REGISTER_S) for k in range(RE_REGISTERING)]
    await asyncio.gather(soak.watch(), soak.keep_on("read", reads(), 1), *chores)


def verdict(soak: Soak, re_registers: bool, faults: list[str]) -> list[str]:
    """Says how memory has grown, and returns all that is wrong."""
    faults = [*faults, *(f"{chore}: answered {status}, {count} times"
                         for (chore, status), count in sorted(soak.unexpected.items()))]
    if server_errors := {s: n for s, n in soak.statuses.items() if s >= 500 and s != 503}:
        faults.append(f"server errors: {server_errors}")
    if soak.seconds < SHORTEST_PROOF_S:
        print(f"\n{soak.seconds / 60:g} minutes are too short to say anything of memory: this run is no proof that it stays")
        return faults
    before = soak.memory_at(WARM_UP_S, WARM_UP_S + WINDOW_S)
    after = soak.memory_at(soak.seconds - WINDOW_S, soak.seconds + SAMPLE_S)
    grown = after - before
    percent = grown / before * 100
    most = (f"{MOST_GROWTH_RE_REGISTER_MIB:g} MiB" if re_registers else f"{MOST_GROWTH_PERCENT:g} %")
    print(f"\nresident after {WARM_UP_S // 60} minutes {before:.1f} MiB, at the end {after:.1f} MiB: {grown:+.1f} MiB, "
          f"{percent:+.1f} % (at most {most})")
    if grown >= MOST_GROWTH_RE_REGISTER_MIB if re_registers else percent > MOST_GROWTH_PERCENT:
        faults.append("its memory grows")
    return faults


async def run(arguments: argparse.Namespace) -> int:
    logs = tempfile.mkdtemp(prefix="eurekad-soak-")
    node = Node("eurekad", 0, Programs(os.path.abspath(arguments.binary), "", logs))
    work: Callable[[Soak], Awaitable[None]] = re_register if arguments.re_register else everything
    try:
        node.start("", *FLAGS)
        await node.ready()
        soak = Soak(node, arguments.minutes * 60)
        cpu_before = node.cpu_s()
        await work(soak)
        cpu = (node.cpu_s() - cpu_before) / (now() - soak.began) * 100
        faults = verdict(soak, arguments.re_register, await soak.still_answers())
    finally:
        node.pool.close()
        node.kill()
    total = soak.statuses.total()
    print(f"{total} requests, {soak.broken} broken connections; answers "
          + ", ".join(f"{status}: {count}" for status, count in sorted(soak.statuses.items()))
          + f"; the node took {cpu:.0f} % of a core")
    for fault in faults:
        print(f"FAILED: {fault}")
    print(f"its log: {node.log}" if faults else "PASSED")
    return 1 if faults else 0


def chosen() -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__, prog="scripts/soak")
    p.add_argument("minutes", type=float, nargs="?", default=10.0, help="how long, 10 by default")
    p.add_argument("--re-register", action="store_true",
                   help=f"{RE_REGISTERING} instances that register every {RE_REGISTER_S * 1000:g} ms, and nothing else")
    p.add_argument("--binary", required=True, help="the eurekad to run; scripts/soak sets it")
    arguments = p.parse_args()
    if arguments.minutes <= 0:
        p.error("MINUTES must be more than 0")
    if not os.access(arguments.binary, os.X_OK):
        p.error(f"{arguments.binary}: no such program")
    return arguments


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the node is ended then too
    arguments = chosen()
    facts = machine.facts(arguments.binary)
    print("; ".join([facts["date"], f"{facts['cores']} cores ({facts['cpu']})", f"{facts['memory_gib']} GiB",
                     f"load average before: {facts['load_average_before']:.2f}", facts["eurekad"],
                     f"sha256 {facts['eurekad_sha256']}"]))
    return asyncio.run(run(arguments))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except RuntimeError as e:
        sys.exit(f"scripts/soak: {e}")
