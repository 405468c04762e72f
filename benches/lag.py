"""How long what is registered at node A takes to be readable at node B: at a steady rate, and after a burst.

Readable is a 200 to `GET apps/APP/ID` at B. B is asked again and again: every 1 ms in the first 20 ms, then every
10 ms, so that a server that takes long is not kept busy by the question. A lag ends when the 200 is here, so what is
reported is never less than the lag was, and up to one pause more.
"""
import asyncio
from collections import Counter
from typing import Optional

import load
from load import expect_only, now, quantile
from machine import Meter
from nodes import Cluster, Node, Programs

PER_S = 500
STEADY_S = 20
WATCH_EVERY = 10   # so many registrations for one that is watched
WATCHERS = 8       # watched at one time: more would load B with their questions
GIVE_UP_S = 15
BURST = 10_000
BURST_SAMPLE = 50  # of the last ones, and as many out of all
WARM = 2000


async def until_readable(node: Node, raw: bytes) -> bool:
    began = now()
    while (await node.pool.ask(raw))[0] != 200:
        waited = now() - began
        if waited > GIVE_UP_S:
            return False
        await asyncio.sleep(0.001 if waited < 0.02 else 0.01)
    return True


async def warm(a: Node, b: Node) -> None:
    """Lets both run their code a while (it is Java that needs it), and leaves them empty."""
    await load.flat_out(a.pool, [load.register(k, "WARM") for k in range(WARM)])
    await asyncio.gather(*(until_readable(b, load.look(k, "WARM")) for k in range(WARM - 20, WARM)))
    await load.flat_out(a.pool, [load.cancel(k, "WARM") for k in range(WARM)])
    await asyncio.sleep(3)


async def steady(kind: str, programs: Programs) -> dict:
    """Registrations at a fixed rate; some of them are watched from when they are sent."""
    async with Cluster(kind, 2, programs) as (a, b):
        await warm(a, b)
        count = PER_S * STEADY_S
        requests = [load.register(k, "STEADY") for k in range(count)]
        statuses: Counter = Counter()
        lags_ms: list[float] = []
        lost = 0
        watchers = asyncio.Semaphore(WATCHERS)

        async def send(k: int) -> None:
            nonlocal lost
            sent = now()
            statuses[(await a.pool.ask(requests[k]))[0]] += 1
            if k % WATCH_EVERY == 0 and not watchers.locked():
                async with watchers:
                    lost += not await until_readable(b, load.look(k, "STEADY"))
                    lags_ms.append((now() - sent) * 1000)

        meter = Meter((a, b))
        pace = await load.paced(PER_S, count, send)
        cpu = meter.read()
        expect_only(204, statuses)
        return {"median_ms": round(quantile(lags_ms, 0.5), 1), "p99_ms": round(quantile(lags_ms, 0.99), 1),
                "max_ms": round(max(lags_ms), 1), "watched": len(lags_ms), "not_seen": lost,
                "per_s": pace.per_s, "loader_late_ms_p99": pace.late_ms_p99, "cpu": cpu}


async def burst(kind: str, programs: Programs) -> dict:
    """Many registrations at once; when the last is answered, a sample is waited for, and then all are asked for."""
    async with Cluster(kind, 2, programs) as (a, b):
        await warm(a, b)
        requests = [load.register(k, "BURST") for k in range(BURST)]
        looks = [load.look(k, "BURST") for k in range(BURST)]
        sample = [*looks[-BURST_SAMPLE:], *looks[::BURST // BURST_SAMPLE]]
        meter = Meter((a, b))
        took, statuses = await load.flat_out(a.pool, requests)
        answered = now()
        expect_only(204, statuses)
        readable_s: Optional[float] = None
        if all(await asyncio.gather(*(until_readable(b, raw) for raw in sample))):
            readable_s = now() - answered
        cpu = meter.read()
        late = []
        todo = iter(looks)

        async def ask() -> None:
            for raw in todo:
                if (await b.pool.ask(raw))[0] != 200:
                    late.append(raw)

        await asyncio.gather(*(ask() for _ in range(16)))
        seen = await asyncio.gather(*(until_readable(b, raw) for raw in late))
        if late:  # the sample missed these, so their time counts
            readable_s = now() - answered
        missing = seen.count(False)
        if missing or readable_s is None:
            raise RuntimeError(f"{missing} of {BURST} are not readable on B after {GIVE_UP_S} s")
        return {"readable_s": round(readable_s, 3), "answered_s": round(took, 2), "per_s": round(BURST / took),
                "sample": len(sample), "outside_sample_late": len(late), "cpu": cpu}
