"""A cluster of three in its everyday life: what it costs, and whether anything is lost.

10,000 instances with leases of 90 s, each at one of the nodes, renew every 30 s; 200 clients fetch deltas every 30 s;
once a second an instance comes, goes DOWN or leaves. Both hit the nodes evenly.
"""
import asyncio
import time
from collections import Counter
from typing import Awaitable, Callable

import load
from fetcher import Fetcher
from load import expect_only, now, quantile
from machine import Meter, process_mib
from nodes import Cluster, Programs

INSTANCES = 10_000
CLIENTS = 200
EVERY_S = 30
MEASURED_S = 90
LEASE_S = 90
# Long enough for a client that comes every 30 s. With the usual three minutes, every delta of a run as short as this
# would hold the whole registry, because all of it has just been registered.
FLAGS = ("--eureka.server.retention-time-in-m-s-in-delta-queue=45000",
         "--eureka.server.delta-retention-timer-interval-in-ms=2000")
FIRST_FETCH_AFTER_S = 20
SETTLED_AFTER_S = FIRST_FETCH_AFTER_S + EVERY_S  # each client has fetched once; the seeding has left the deltas


def change(n: int) -> bytes:
    """Instances beside those that renew: one comes, shows itself DOWN, leaves, and then the next."""
    k, step = INSTANCES + n // 3, n % 3
    dirty = int(time.time() * 1000)
    if step == 2:
        return load.cancel(k, "STEADY")
    return load.register(k, "STEADY", status=("UP", "DOWN")[step], dirty=dirty)


async def measure(kind: str, programs: Programs) -> dict:
    async with Cluster(kind, 3, programs, *FLAGS) as nodes:
        pools = [node.pool for node in nodes]
        for statuses in await asyncio.gather(*(
                load.flat_out(pool, [load.register(k, "STEADY", LEASE_S) for k in range(at, INSTANCES, len(pools))])
                for at, pool in enumerate(pools))):
            expect_only(204, statuses[1])
        beats = [load.beat(k, "STEADY") for k in range(INSTANCES)]
        beat_statuses: Counter = Counter()
        change_statuses: Counter = Counter()
        beat_ms: list[float] = []
        fetchers = [Fetcher(pools[n % len(pools)]) for n in range(CLIENTS)]

        async def send_beat(n: int) -> None:
            k, sent = n % INSTANCES, now()
            beat_statuses[(await pools[k % len(pools)].ask(beats[k]))[0]] += 1
            beat_ms.append((now() - sent) * 1000)

        async def send_change(n: int) -> None:
            change_statuses[(await pools[n // 3 % len(pools)].ask(change(n)))[0]] += 1

        async def loads(per_s: float, seconds: float, send: Callable[[int], Awaitable[None]]) -> load.Pace:
            return await load.paced(per_s, int(per_s * seconds), send)

        per_s = INSTANCES / EVERY_S
        beating = asyncio.create_task(loads(per_s, SETTLED_AFTER_S + MEASURED_S, send_beat))
        await asyncio.sleep(FIRST_FETCH_AFTER_S)
        fetching = asyncio.create_task(loads(
            CLIENTS / EVERY_S, EVERY_S + MEASURED_S, lambda n: fetchers[n % CLIENTS].fetch()))
        await asyncio.sleep(EVERY_S)
        full_before, settle_ms = sum(f.full_fetches for f in fetchers), len(beat_ms)
        meter = Meter(nodes)
        await loads(1, MEASURED_S, send_change)
        cpu = meter.read()
        pace, _ = await beating, await fetching
        totals = [await node.metrics() for node in nodes]
        if set(change_statuses) - {200, 204}:
            raise RuntimeError(f"changes were answered {dict(change_statuses)}")
        return {
            "node_cpu_percent": max(cpu["nodes"]), "all_nodes_cpu_percent": cpu["nodes"],
            "beats_lost": sum(n for status, n in beat_statuses.items() if status != 200),
            "evicted": int(sum(t["eurekad_evictions_total"] for t in totals)),
            "full_fetches": sum(f.full_fetches for f in fetchers) - full_before,
            "beats": sum(beat_statuses.values()), "beats_per_s": pace.per_s,
            "beat_p99_ms": round(quantile(beat_ms[settle_ms:], 0.99), 2), "loader_late_ms_p99": pace.late_ms_p99,
            "first_full_fetches": full_before, "deltas": sum(f.deltas for f in fetchers),
            "changes_in_deltas": sum(f.changes for f in fetchers),
            "failed_fetches": sum(f.failed for f in fetchers),
            "instances_at_end": [int(t["eurekad_instances"]) for t in totals],
            "nodes_mib": [process_mib(node.process.pid) for node in nodes if node.process], "cpu": cpu}
