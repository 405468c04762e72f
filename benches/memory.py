"""What registries of several sizes take: memory, and the document that clients fetch."""
import asyncio

import load
from load import expect_only, get
from machine import Meter, process_mib
from nodes import Cluster, Programs

SIZES = (1_000, 10_000, 50_000)
FETCHES = 5
SETTLES_S = 3  # the caches are renewed, and what registrations took is given back


async def measure(kind: str, programs: Programs) -> dict:
    flags = ("--eureka.client.register-with-eureka=false",)
    async with Cluster(kind, 1, programs, *flags) as (node,):
        assert node.process
        pid, meter = node.process.pid, Meter([node])
        resident = {0: process_mib(pid)}
        gzip_bytes, plain_bytes = {}, {}
        known = 0
        for size in SIZES:
            _, statuses = await load.flat_out(node.pool, (load.register(k, "MANY") for k in range(known, size)))
            expect_only(204, statuses)
            known = size
            plain = get("/eureka/apps/")
            while b"%s" % load.instance_id(size - 1).encode() not in (await node.pool.ask(plain))[1]:
                await asyncio.sleep(0.2)  # the read-only cache
            for _ in range(FETCHES):
                status, body = await node.pool.ask(get("/eureka/apps/", "Accept-Encoding: gzip"))
                expect_only(200, {status: 1})
                gzip_bytes[size] = len(body)
                status, body = await node.pool.ask(plain)
                expect_only(200, {status: 1})
                plain_bytes[size] = len(body)
            await asyncio.sleep(SETTLES_S)
            resident[size] = process_mib(pid)
        return {"empty_mib": resident[0], **{f"mib_{size}": resident[size] for size in SIZES},
                **{f"gzip_mb_{size}": round(gzip_bytes[size] / 1e6, 2) for size in SIZES},
                **{f"plain_mb_{size}": round(plain_bytes[size] / 1e6, 2) for size in SIZES},
                "cpu": meter.read()}
