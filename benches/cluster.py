#!/usr/bin/env python3
"""Measures a cluster and prints one table; README.md says what each figure is. Run it by `scripts/bench cluster`."""
import argparse
import asyncio
import os
import signal
import sys
import tempfile
from typing import Awaitable, Callable, NamedTuple

import beats
import hanging
import lag
import machine
import memory
import report
import restart
import steady
from load import now
from nodes import Programs
from report import Line

HERE = os.path.dirname(os.path.abspath(__file__))
ALL_WITHIN_S = 1100


class Measurement(NamedTuple):
    run: Callable[[str, Programs], Awaitable[dict]]
    kinds: tuple[str, ...]
    within_s: float  # for each kind
    lines: list[Line]


MEASUREMENTS = {
    1: Measurement(lag.steady, ("eurekad", "java"), 120, [
        Line(f"register on A to readable on B, median, {lag.PER_S} registrations/s", "median_ms", "ms", at_most=20),
        Line("the same, p99", "p99_ms", "ms", at_most=100),
        Line("registrations/s that were reached", "per_s"),
    ]),
    2: Measurement(lag.burst, ("eurekad", "java"), 120, [
        Line(f"{lag.BURST:,} registrations at once on A: last answer to all readable on B", "readable_s", "s",
             at_most=0.1),
        Line("answered by A in", "answered_s", "s"),
    ]),
    3: Measurement(hanging.measure, ("eurekad",), 150, [
        Line("heartbeat p99 with a peer that hangs, against the same with it healthy", "ratio", "×", at_most=1.5),
        Line(f"heartbeat p99 with it healthy, {hanging.PER_S} heartbeats/s", "healthy_p99_ms", "ms"),
        Line("heartbeat p99 with it hanging", "hanging_p99_ms", "ms"),
    ]),
    4: Measurement(restart.measure, ("eurekad",), 150, [
        Line(f"restart into a cluster of {restart.INSTANCES:,} instances: start to ready, slowest of "
             f"{restart.RESTARTS}", "ready_s", "s", at_most=5),
        Line("instances it has then", "instances", at_least=restart.INSTANCES),
    ]),
    5: Measurement(steady.measure, ("eurekad",), 240, [
        Line(f"three nodes, {steady.INSTANCES:,} instances, {steady.CLIENTS} clients, {steady.MEASURED_S} s: busiest "
             "node, percent of a core", "node_cpu_percent", "%"),
        Line("heartbeats that were lost", "beats_lost", at_most=0),
        Line("instances that were evicted", "evicted", at_most=0),
        Line("full fetches after each client's first", "full_fetches", at_most=0),
        Line("heartbeats/s that were reached", "beats_per_s"),
    ]),
    6: Measurement(beats.scrapes, ("eurekad",), 120, [
        Line(f"heartbeat p99 with a scrape each second, against without; {beats.SCRAPED_INSTANCES:,} instances, "
             f"{beats.SCRAPED_PER_S:,} heartbeats/s", "ratio", "×", at_most=1.2),
        Line("heartbeat p99 without scrapes", "without_p99_ms", "ms"),
        Line("heartbeat p99 with them", "with_p99_ms", "ms"),
    ]),
    7: Measurement(beats.sizes, ("eurekad",), 150, [
        Line("heartbeat median at " + ", ".join(f"{size:,}" for size in beats.SIZES) + " instances, the most against "
             "the least", "ratio", "×", at_most=2),
        Line("heartbeat median at the largest", "largest_p50_ms", "ms"),
        Line("the same of the p99s", "p99_ratio", "×"),
    ]),
    8: Measurement(memory.measure, ("eurekad", "java"), 400, [
        Line("resident memory of an empty server", "empty_mib", "MiB"),
        *(line for size in memory.SIZES for line in (
            Line(f"resident memory with {size:,} instances", f"mib_{size}", "MiB"),
            Line("the document with all of them, as JSON", f"plain_mb_{size}", "MB"),
            Line("the same compressed", f"gzip_mb_{size}", "MB"))),
    ]),
}


async def attempt(measurement: Measurement, kind: str, programs: Programs, left_s: float) -> dict:
    """What was measured, or why it was not; the next measurement goes on either way."""
    if kind == "java" and not os.path.exists(programs.java_jar):
        return {"failed": f"no {programs.java_jar}; tests/interop/setup builds it"}
    within_s = min(measurement.within_s, left_s)
    try:
        return await asyncio.wait_for(measurement.run(kind, programs), within_s)
    except asyncio.TimeoutError:
        return {"failed": f"not done within {within_s:.0f} s"}
    except Exception as e:  # any: a figure that cannot be had must not cost the others
        return {"failed": f"{type(e).__name__}: {e}"}


def chosen() -> argparse.Namespace:
    cache = os.environ.get("INTEROP_CACHE") or os.path.join(HERE, "..", "target", "interop")
    p = argparse.ArgumentParser(description=__doc__, prog="scripts/bench cluster")
    p.add_argument("--binary", required=True, help="the eurekad to measure; scripts/bench sets it")
    p.add_argument("--only", default=",".join(map(str, MEASUREMENTS)), metavar="1,4", help="these figures alone")
    p.add_argument("--no-java", action="store_true", help="measure eurekad alone")
    p.add_argument("--java-jar", default=os.path.join(cache, "java-server", "interop-java-server.jar"))
    p.add_argument("--out", default=os.path.join(HERE, "results", "cluster.json"), help="where the JSON goes")
    arguments = p.parse_args()
    arguments.only = [int(number) for number in arguments.only.split(",")]
    if unknown := set(arguments.only) - set(MEASUREMENTS):
        p.error(f"no such figure: {', '.join(map(str, unknown))}")
    if not os.access(arguments.binary, os.X_OK):
        p.error(f"{arguments.binary}: no such program")
    return arguments


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the servers are ended then too
    arguments = chosen()
    facts = machine.facts(arguments.binary)
    logs = tempfile.mkdtemp(prefix="eurekad-bench-")
    programs = Programs(os.path.abspath(arguments.binary), os.path.abspath(arguments.java_jar), logs)
    results: dict[int, dict[str, dict]] = {}
    began = now()
    for number in arguments.only:
        measurement = MEASUREMENTS[number]
        results[number] = {}
        for kind in measurement.kinds:
            if kind == "java" and arguments.no_java:
                continue
            print(f"figure {number}, {kind} …", file=sys.stderr, flush=True)
            left_s = max(0.0, ALL_WITHIN_S - (now() - began))
            results[number][kind] = asyncio.run(attempt(measurement, kind, programs, left_s))
    facts["seconds"] = round(now() - began)
    java = any("failed" not in kinds.get("java", {"failed": ""}) for kinds in results.values())
    facts["java"] = " ".join(machine.java_options()) if java else "not run"
    report.write(arguments.out, facts, results)
    print(report.table({n: m.lines for n, m in MEASUREMENTS.items()}, results), "", sep="\n")
    print(report.machine_line(facts), *(f"- {remark}" for remark in report.remarks(results)), sep="\n")
    failed = any("failed" in result for kinds in results.values() for result in kinds.values())
    if failed:
        print(f"- the servers' logs are in {logs}")
    print(f"- {facts['seconds']} s in all; details in {os.path.relpath(arguments.out)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
