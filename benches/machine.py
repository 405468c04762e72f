"""What the machine is, and who used its cores while something was measured."""
import datetime
import hashlib
import os
import platform
import subprocess
from typing import TYPE_CHECKING, Sequence

from load import now

if TYPE_CHECKING:
    from nodes import Node

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# Where few cores are shared by two Java servers and the loader, the optimising compiler takes more than it gives in
# runs of a minute.
FEW_CORES = 4


def facts(program: str) -> dict:
    with open("/proc/cpuinfo") as f:
        models = [line.split(":", 1)[1].strip() for line in f if line.startswith("model name")]
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, timeout=10)
    with open(program, "rb") as binary:
        digest = hashlib.sha256(binary.read()).hexdigest()
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "cores": os.cpu_count() or 1, "cpu": models[0] if models else platform.machine(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.release()}", "python": platform.python_version(),
        "load_average_before": os.getloadavg()[0], "eurekad": version.stdout.strip(), "eurekad_sha256": digest[:16],
    }


def process_cpu_s(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def process_mib(pid: int) -> float:
    with open(f"/proc/{pid}/status") as f:
        return next(round(int(line.split()[1]) / 1024, 1) for line in f if line.startswith("VmRSS"))


def machine_cpu_s() -> float:
    """What all processes and the system have used so far: user, nice, system, irq, softirq."""
    with open("/proc/stat") as f:
        v = [int(x) for x in f.readline().split()[1:]]
    return (v[0] + v[1] + v[2] + v[5] + v[6]) / TICKS_PER_S


class Meter:
    """Who used how much from its making until `read`, in percent of one core."""

    def __init__(self, nodes: Sequence["Node"]) -> None:
        self.nodes = nodes
        self.before = self.look()

    def look(self) -> tuple[float, float, float, list[float]]:
        return now(), machine_cpu_s(), sum(os.times()[:2]), [node.cpu_s() for node in self.nodes]

    def read(self) -> dict:
        after = self.look()
        took = after[0] - self.before[0]

        def percent(used_s: float) -> float:
            return round(max(0.0, used_s) / took * 100, 1)

        nodes = [b - a for a, b in zip(self.before[3], after[3])]
        loader = after[2] - self.before[2]
        return {"seconds": round(took, 1), "nodes": [percent(s) for s in nodes], "loader": percent(loader),
                "other": percent(after[1] - self.before[1] - loader - sum(nodes))}


def java_options() -> list[str]:
    few = (os.cpu_count() or 1) < FEW_CORES
    return [*(["-XX:TieredStopAtLevel=1"] if few else []), "-Xmx512m"]
