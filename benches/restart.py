"""How soon a node that restarts into a large cluster is ready, and whether it has everything then."""
import asyncio

import load
from load import expect_only, now
from machine import Meter, process_mib
from nodes import Cluster, Node, Programs

INSTANCES = 50_000
RESTARTS = 3
COPIED_WITHIN_S = 60
# So that the nodes count what was seeded, and not themselves too.
FLAGS = ("--eureka.client.register-with-eureka=false",)


async def instances_of(node: Node) -> int:
    return int((await node.metrics())["eurekad_instances"])


async def measure(kind: str, programs: Programs) -> dict:
    cluster = Cluster(kind, 3, programs, *FLAGS)
    async with cluster as nodes:
        took, statuses = await load.flat_out(nodes[0].pool, (load.register(k, "MANY") for k in range(INSTANCES)))
        expect_only(204, statuses)
        began = now()
        while (have := [await instances_of(node) for node in nodes[1:]]) != [INSTANCES] * 2:
            if now() > began + COPIED_WITHIN_S:
                raise RuntimeError(f"the peers have {have} of {INSTANCES} instances after {COPIED_WITHIN_S} s")
            await asyncio.sleep(0.2)
        restarted, ready_s, instances = nodes[0], [], []
        meter = Meter(nodes)
        for _ in range(RESTARTS):
            restarted.kill()
            await asyncio.sleep(2)  # what the peers do about its end is over
            began = now()
            cluster.start(restarted)
            await restarted.ready(poll_s=0.005)
            ready_s.append(round(now() - began, 3))
            instances.append(await instances_of(restarted))
        cpu = meter.read()
        assert restarted.process
        return {"ready_s": max(ready_s), "instances": min(instances), "all_ready_s": ready_s,
                "seeded_per_s": round(INSTANCES / took), "restarted_mib": process_mib(restarted.process.pid),
                "cpu": cpu}
