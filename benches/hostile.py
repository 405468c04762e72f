#!/usr/bin/env python3
"""What attacks on a node cost the heartbeats of honest clients.

One node for each attack, and honest clients that send heartbeats at fixed moments: first in quiet, then while another
process attacks from the same machine. A table comes out: heartbeats sent and failed, p50 and p99 in quiet and under
attack. A heartbeat has failed if it was not answered 200 within five seconds; one that finds its kept connection closed
is sent once more on another, as every client does.
"""
import argparse
import asyncio
import gzip
import os
import subprocess
import sys
import tempfile
from typing import Awaitable, Callable

import load
import machine
from load import HOST, Pool, now, quantile
from machine import Meter
from nodes import Node, Programs

INSTANCES = 1000
PER_S = 200
QUIET_S = 3
ATTACK_S = 6
ANSWER_WITHIN_S = 5
PLACES = 500     # of the node
ATTACKERS = 800  # connections that are held at one time, more than there are places
POST = "POST /eureka/apps/X HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"


# ---- attacks, in a process of their own ------------------------------------------------------------------------------

async def send(port: int, data: bytes, hold_s: float = 0.0, drip: bytes = b"") -> None:
    """Connects, sends, reads some of what comes, and holds on, with a byte now and then."""
    writer = None
    try:
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(data)
        await asyncio.wait_for(writer.drain(), 5)
        if hold_s == 0.0:
            await asyncio.wait_for(reader.read(1000), 5)
            return
        until = now() + hold_s
        while now() < until and not reader.at_eof():
            await asyncio.sleep(0.5)
            if drip:
                writer.write(drip)
    except (OSError, asyncio.TimeoutError):
        pass
    finally:
        if writer:
            writer.close()


Attack = Callable[[int], Awaitable[None]]


def again_and_again(tasks: int, *datas: bytes, hold_s: float = 0.0, drip: bytes = b"") -> Attack:
    async def attack(port: int) -> None:
        async def worker(n: int) -> None:
            await asyncio.sleep(n / tasks)  # not all in the same moment
            while True:
                await send(port, datas[n % len(datas)], hold_s, drip)
                await asyncio.sleep(0)
        await asyncio.gather(*(worker(n) for n in range(tasks)))
    return attack


def get(headers: str) -> bytes:
    return f"GET /health/live HTTP/1.1\r\nHost: h\r\n{headers}\r\n".encode()


def post(path: str, headers: str, body: bytes) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n{headers}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def attacks() -> dict[str, Attack]:
    bomb = gzip.compress(bytes(100_000_000), 6)
    packed = "Content-Encoding: gzip\r\n"
    batch = "/eureka/peerreplication/batch/"
    return {
        "heads byte by byte": again_and_again(ATTACKERS, b"GET /eureka/apps HTTP/1.1\r\nX: ", hold_s=5, drip=b"x"),
        "bodies byte by byte": again_and_again(
            ATTACKERS, (POST + "Content-Length: 1000\r\n\r\n{").encode(), hold_s=5, drip=b" "),
        "silent connections": again_and_again(ATTACKERS, b"", hold_s=5),
        "connections that come and go": again_and_again(32, b"GET", hold_s=0.001),
        "floods of headers": again_and_again(16, get("X: y\r\n" * 200), get("X: " + "y" * 70_000 + "\r\n")),
        "bodies too large": again_and_again(8, post("/eureka/apps/X", "", b" " * 2_000_000)),
        "gzip bombs": again_and_again(8, post(batch, packed, bomb), post("/eureka/apps/X", packed, bomb)),
        "wrong input": again_and_again(
            16, b"\x16\x03\x01\x00\r\n\r\n", post("/eureka/apps/X", "", b"{"),
            post("/eureka/apps/X", "", b"[" * 100_000), post(batch, "", b"[[[["), b"GET /\xff HTTP/1.1\r\n\r\n"),
    }


# ---- honest clients --------------------------------------------------------------------------------------------------

async def beats(pool: Pool, raw: list[bytes], seconds: int) -> tuple[list[float], int, float]:
    """The milliseconds of each heartbeat that was answered, how many were not, and how late this loader was."""
    took_ms: list[float] = []
    failed = 0

    async def beat(n: int) -> None:
        nonlocal failed
        sent = now()
        for _ in range(2):
            try:
                status, _ = await asyncio.wait_for(pool.ask(raw[n % len(raw)]), ANSWER_WITHIN_S)
            except asyncio.TimeoutError:
                break
            if status:
                break
        else:
            status = 0
        if status == 200:
            took_ms.append((now() - sent) * 1000)
        else:
            failed += 1

    pace = await load.paced(PER_S, PER_S * seconds, beat)
    return took_ms, failed, pace.late_ms_p99


async def measure(name: str, programs: Programs) -> dict:
    raw = [load.beat(k, "BEAT") for k in range(INSTANCES)]
    node = Node("eurekad", 0, programs)
    attacker = None
    try:
        node.start("", f"--eurekad.limits.connections={PLACES}", "--eurekad.log.filter=warn")
        await node.ready()
        _, statuses = await load.flat_out(node.pool, [load.register(k, "BEAT") for k in range(INSTANCES)])
        load.expect_only(204, statuses)
        quiet, quiet_failed, _ = await beats(node.pool, raw, QUIET_S)
        attacker = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--attack", name, str(node.port)])
        await asyncio.sleep(1.5)  # it gets under way
        meter = Meter([node])
        took, failed, late = await beats(node.pool, raw, ATTACK_S)
        return {"sent": PER_S * (QUIET_S + ATTACK_S), "failed": quiet_failed + failed,
                "quiet": [quantile(quiet, q) for q in (0.5, 0.99)],
                "attack": [quantile(took or [0.0], q) for q in (0.5, 0.99)],
                "late": late, "cpu": meter.read()}
    finally:
        if attacker:
            attacker.kill()
            attacker.wait()
        node.pool.close()
        node.kill()


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--binary", default=os.environ.get("EUREKAD_BIN"), help="the eurekad to measure, or EUREKAD_BIN")
    p.add_argument("--attack", nargs=2, metavar=("NAME", "PORT"), help="only attacks, for at most a minute")
    arguments = p.parse_args()
    if arguments.attack:
        name, port = arguments.attack
        try:
            asyncio.run(asyncio.wait_for(attacks()[name](int(port)), 60))
        except asyncio.TimeoutError:
            pass
        return 0
    if not arguments.binary or not os.access(arguments.binary, os.X_OK):
        p.error("which eurekad? say --binary FILE")
    binary = os.path.abspath(arguments.binary)
    facts = machine.facts(binary)
    programs = Programs(binary, "", tempfile.mkdtemp(prefix="eurekad-hostile-"))
    print("| attack | heartbeats | failed | p50 quiet | p99 quiet | p50 attacked | p99 attacked | node, of a core |",
          "|---|---|---|---|---|---|---|---|", sep="\n", flush=True)
    all_failed, late = 0, 0.0
    for name in attacks():
        r = asyncio.run(measure(name, programs))
        all_failed += r["failed"]
        late = max(late, r["late"])
        times = " | ".join(f"{ms:.2f} ms" for ms in [*r["quiet"], *r["attack"]])
        print(f"| {name} | {r['sent']} | {r['failed']} | {times} | {r['cpu']['nodes'][0]:.0f} % |", flush=True)
    print(f"\n{facts['date']}; {facts['cores']} cores ({facts['cpu']}), load average before: "
          f"{facts['load_average_before']:.2f}; {facts['eurekad']}, sha256 {facts['eurekad_sha256']}. Node, attacker "
          f"and honest clients share the cores; the honest clients were late by at most {late:.1f} ms (p99).")
    return 1 if all_failed else 0


if __name__ == "__main__":
    sys.exit(main())
