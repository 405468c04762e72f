"""What a peer that hangs costs the heartbeats of a node's own clients.

Two clusters of three are started alike. In one, the third node is then killed and its port taken by a socket that
accepts and never answers. The same load goes to the first node of one cluster and of the other in turn, so that what
else the machine does hits both.
"""
import asyncio
import socket
import statistics
from collections import Counter

import load
from load import HOST, expect_only, now, quantile
from machine import Meter
from nodes import Cluster, Node, Programs

INSTANCES = 1000
PER_S = 500
ROUND_S = 4
ROUNDS = 9  # of each


def take_port(port: int) -> socket.socket:
    """Connections are made by the system and nothing is ever read from them."""
    taken = socket.socket()
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    taken.bind((HOST, port))
    taken.listen(1024)
    taken.setblocking(False)
    return taken


def calls(taken: socket.socket) -> int:
    """How many connections were made to it."""
    count = 0
    while True:
        try:
            taken.accept()[0].close()
        except BlockingIOError:
            return count
        count += 1


async def one_round(node: Node, beats: list[bytes]) -> tuple[list[float], float]:
    """The milliseconds of each heartbeat from the moment it was to go, and how late the loader was."""
    took_ms: list[float] = []
    statuses: Counter = Counter()

    async def send(n: int) -> None:
        sent = now()
        statuses[(await node.pool.ask(beats[n % INSTANCES]))[0]] += 1
        took_ms.append((now() - sent) * 1000)

    pace = await load.paced(PER_S, PER_S * ROUND_S, send)
    expect_only(200, statuses)
    return took_ms, pace.late_ms_p99


async def measure(kind: str, programs: Programs) -> dict:
    beats = [load.beat(k, "BEAT") for k in range(INSTANCES)]
    async with Cluster(kind, 3, programs) as healthy, Cluster(kind, 3, programs) as hanging:
        for nodes in (healthy, hanging):
            _, statuses = await load.flat_out(nodes[0].pool, [load.register(k, "BEAT") for k in range(INSTANCES)])
            expect_only(204, statuses)
        await asyncio.sleep(2)  # all peers have answered by now, and are known for what they are
        hanging[2].kill()
        with take_port(hanging[2].port) as taken:
            sides = {"healthy": healthy[0], "hanging": hanging[0]}
            for node in sides.values():
                await one_round(node, beats)  # not counted: opens connections, and lets the hang be noticed
            took: dict[str, list[list[float]]] = {side: [] for side in sides}
            late: list[float] = []
            meter = Meter([*healthy, *hanging[:2]])
            for number in range(ROUNDS):
                # The order changes each time, so that neither side always follows the other.
                for side in sorted(sides, reverse=bool(number % 2)):
                    took_ms, late_ms = await one_round(sides[side], beats)
                    took[side].append(took_ms)
                    late.append(late_ms)
            cpu = meter.read()
            called = calls(taken)
            if not called:
                raise RuntimeError("no node has called the peer that hangs, so nothing was measured")
    p99 = {side: statistics.median(quantile(r, 0.99) for r in rounds) for side, rounds in took.items()}
    pooled = {side: round(quantile([ms for r in rounds for ms in r], 0.99), 2) for side, rounds in took.items()}
    return {"ratio": round(p99["hanging"] / p99["healthy"], 2), "healthy_p99_ms": round(p99["healthy"], 2),
            "hanging_p99_ms": round(p99["hanging"], 2), "pooled_p99_ms": pooled,
            "rounds_p99_ms": {side: [round(quantile(r, 0.99), 2) for r in rounds] for side, rounds in took.items()},
            "per_s": PER_S, "calls_to_hanging_peer": called, "loader_late_ms_p99": max(late), "cpu": cpu}
