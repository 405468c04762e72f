"""One table of what was measured, to read, and the same with every detail, as JSON."""
import json
import os
from typing import NamedTuple, Optional

# A figure is doubtful if others than the servers and the loader used more of a core.
NOISY_PERCENT = 20


class Line(NamedTuple):
    """One figure of a measurement: what it is, its key in the results, and what it is to be."""
    what: str
    key: str
    unit: str = ""
    at_most: Optional[float] = None
    at_least: Optional[float] = None

    def target(self) -> str:
        if self.at_most == 0:
            return "0"
        if self.at_most is not None:
            return f"≤ {amount(self.at_most, self.unit)}"
        return "" if self.at_least is None else f"≥ {amount(self.at_least, self.unit)}"

    def verdict(self, result: Optional[dict]) -> str:
        if self.at_most is None and self.at_least is None:
            return ""
        if not result or "failed" in result:
            return "not measured"
        value = result[self.key]
        if self.at_most is not None:
            return "PASS" if value <= self.at_most else "over target"
        return "PASS" if value >= (self.at_least or 0) else "under target"


def amount(value: float, unit: str) -> str:
    return f"{value:,} {unit}".strip()


def cell(line: Line, result: Optional[dict]) -> str:
    if result is None:
        return "–"
    return "failed" if "failed" in result else amount(result[line.key], line.unit)


def table(figures: dict[int, list[Line]], results: dict[int, dict[str, dict]]) -> str:
    rows = ["| | figure | target | eurekad | | Java |", "|---|---|---|---|---|---|"]
    for number, kinds in results.items():
        ours, java = kinds.get("eurekad"), kinds.get("java")
        for line in figures[number]:
            rows.append(f"| {number} | {line.what} | {line.target()} | {cell(line, ours)} | {line.verdict(ours)} "
                        f"| {cell(line, java)} |")
    return "\n".join(rows)


def remarks(results: dict[int, dict[str, dict]]) -> list[str]:
    """What one needs to know to trust the table."""
    said = []
    for number, kinds in results.items():
        for kind, result in kinds.items():
            if "failed" in result:
                said.append(f"{number}, {kind}: failed: {result['failed']}")
                continue
            cpu = result["cpu"]
            nodes = ", ".join(f"{percent:.0f}" for percent in cpu["nodes"])
            late = f"; p99 of how late the loader sent: {result['loader_late_ms_p99']} ms" \
                if "loader_late_ms_p99" in result else ""
            noisy = " **noisy: measure again**" if cpu["other"] > NOISY_PERCENT else ""
            said.append(f"{number}, {kind}: percent of a core in {cpu['seconds']} s: nodes {nodes}; "
                        f"loader {cpu['loader']:.0f}; other work {cpu['other']:.0f}{noisy}{late}")
    return said


def machine_line(facts: dict) -> str:
    return (f"{facts['date']}; {facts['cores']} cores ({facts['cpu']}), {facts['memory_gib']} GiB, {facts['system']}; "
            f"load average before: {facts['load_average_before']:.2f}; {facts['eurekad']}, "
            f"sha256 {facts['eurekad_sha256']}; Java: {facts['java']}. "
            f"Servers and loader (Python {facts['python']}) share the cores.")


def write(path: str, facts: dict, results: dict[int, dict[str, dict]]) -> None:
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"machine": facts, "figures": results}, f, indent=1)
        f.write("\n")
