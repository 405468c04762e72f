"""Heartbeats: what a scrape each second costs them, and whether the size of the registry does.

Both compare sides that take turns in rounds of a few seconds, so that what else the machine does hits them alike, and
both answer with the median of the rounds.
"""
import asyncio
import random
import statistics
from collections import Counter
from contextlib import asynccontextmanager
from typing import AsyncIterator

import load
from load import Pool, expect_only, get, now, quantile
from machine import Meter
from nodes import Cluster, Node, Programs

SCRAPED_INSTANCES = 5_000
SCRAPED_PER_S = 2_000
SCRAPED_ROUND_S = 4
SCRAPED_ROUNDS = 6
SCRAPE_EVERY_S = 1.0

SIZES = (100, 10_000, 50_000)
SIZED_PER_S = 500
SIZED_ROUND_S = 3
SIZED_ROUNDS = 6


async def one_round(pool: Pool, beats: list[bytes], per_s: int, seconds: int) -> tuple[list[float], float]:
    """The milliseconds of each heartbeat, and how late the loader was."""
    took_ms: list[float] = []
    statuses: Counter = Counter()

    async def send(n: int) -> None:
        sent = now()
        statuses[(await pool.ask(beats[n % len(beats)]))[0]] += 1
        took_ms.append((now() - sent) * 1000)

    pace = await load.paced(per_s, per_s * seconds, send)
    expect_only(200, statuses)
    return took_ms, pace.late_ms_p99


async def fill(node: Node, size: int) -> list[bytes]:
    """Registers so many instances; their heartbeats, in no order."""
    _, statuses = await load.flat_out(node.pool, (load.register(k, "BEAT") for k in range(size)))
    expect_only(204, statuses)
    beats = [load.beat(k, "BEAT") for k in range(size)]
    random.Random(1).shuffle(beats)
    return beats


@asynccontextmanager
async def scraped(port: int, every_s: float, count: list[int]) -> AsyncIterator[None]:
    """Asks for /metrics again and again meanwhile."""
    pool = Pool(port, most=1)

    async def scrape() -> None:
        while True:
            status, body = await pool.ask(get("/metrics"))
            if status != 200 or b"eurekad_instances " not in body:
                raise RuntimeError(f"a scrape was answered {status}")
            count.append(len(body))
            await asyncio.sleep(every_s)

    task = asyncio.create_task(scrape())
    try:
        yield
    finally:
        if task.done():
            task.result()  # it only ends by failing
        task.cancel()
        pool.close()


async def scrapes(kind: str, programs: Programs) -> dict:
    async with Cluster(kind, 1, programs, "--eureka.client.register-with-eureka=false") as (node,):
        beats = await fill(node, SCRAPED_INSTANCES)
        await one_round(node.pool, beats, SCRAPED_PER_S, SCRAPED_ROUND_S)  # not counted: opens connections
        rounds: dict[str, list[float]] = {"without": [], "with": []}
        late: list[float] = []
        sizes: list[int] = []
        meter = Meter([node])
        for number in range(SCRAPED_ROUNDS):
            # The order changes each time, so that neither side always follows the other.
            for side in sorted(rounds, reverse=bool(number % 2)):
                if side == "with":
                    async with scraped(node.port, SCRAPE_EVERY_S, sizes):
                        took_ms, late_ms = await one_round(node.pool, beats, SCRAPED_PER_S, SCRAPED_ROUND_S)
                else:
                    took_ms, late_ms = await one_round(node.pool, beats, SCRAPED_PER_S, SCRAPED_ROUND_S)
                rounds[side].append(quantile(took_ms, 0.99))
                late.append(late_ms)
        cpu = meter.read()
    p99 = {side: statistics.median(each) for side, each in rounds.items()}
    return {"ratio": round(p99["with"] / p99["without"], 2), "without_p99_ms": round(p99["without"], 2),
            "with_p99_ms": round(p99["with"], 2), "scrapes": len(sizes), "scrape_bytes": max(sizes),
            "rounds_p99_ms": {side: [round(ms, 2) for ms in each] for side, each in rounds.items()},
            "loader_late_ms_p99": max(late), "cpu": cpu}


async def sizes(kind: str, programs: Programs) -> dict:
    flags = ("--eureka.client.register-with-eureka=false",)
    async with Cluster(kind, 1, programs, *flags) as (small,), Cluster(kind, 1, programs, *flags) as (middle,), \
            Cluster(kind, 1, programs, *flags) as (large,):
        nodes = dict(zip(SIZES, (small, middle, large)))
        beats = {size: await fill(node, size) for size, node in nodes.items()}
        for size, node in nodes.items():
            await one_round(node.pool, beats[size], SIZED_PER_S, 1)  # not counted: opens connections
        p50: dict[int, list[float]] = {size: [] for size in SIZES}
        p99: dict[int, list[float]] = {size: [] for size in SIZES}
        late: list[float] = []
        meter = Meter(list(nodes.values()))
        for number in range(SIZED_ROUNDS):
            for size in (SIZES, SIZES[::-1])[number % 2]:
                took_ms, late_ms = await one_round(nodes[size].pool, beats[size], SIZED_PER_S, SIZED_ROUND_S)
                p50[size].append(quantile(took_ms, 0.5))
                p99[size].append(quantile(took_ms, 0.99))
                late.append(late_ms)
        cpu = meter.read()

    def medians(rounds: dict[int, list[float]]) -> list[float]:
        return [round(statistics.median(rounds[size]), 3) for size in SIZES]

    def spread(values: list[float]) -> float:
        return round(max(values) / min(values), 2)

    return {"ratio": spread(medians(p50)), "p50_ms": medians(p50), "p99_ms": medians(p99),
            "largest_p50_ms": medians(p50)[-1], "p99_ratio": spread(medians(p99)),
            "rounds_p99_ms": {str(size): [round(ms, 2) for ms in p99[size]] for size in SIZES},
            "loader_late_ms_p99": max(late), "cpu": cpu}
