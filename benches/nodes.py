"""Clusters to measure: eurekad nodes or Java servers on 127.0.0.1, which end when the measurement does."""
import asyncio
import os
import subprocess
import sys
from typing import NamedTuple, Optional

from load import HOST, Pool, get, now
from machine import java_options, process_cpu_s

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "interop"))
import server  # noqa: E402

READY_WITHIN_S = 90
# A Java server tells itself from its peers by the host of a URL alone.
JAVA_HOSTS = ("localhost", HOST)


class Programs(NamedTuple):
    eurekad: str
    java_jar: str
    logs: str


class Node:
    """One server of a cluster, and the processes that it has had."""

    def __init__(self, kind: str, number: int, programs: Programs) -> None:
        self.kind, self.number, self.programs = kind, number, programs
        self.port = server.free_port()
        host = JAVA_HOSTS[number] if kind == "java" else HOST
        self.url = f"http://{host}:{self.port}/eureka/"
        self.log = os.path.join(programs.logs, f"{kind}-{self.port}.log")
        self.process: Optional[subprocess.Popen] = None
        self.ended_cpu_s = 0.0
        self.pool = Pool(self.port)

    def start(self, peers: str, *flags: str) -> None:
        env = dict(os.environ)
        if self.kind == "java":
            command = ["java", *java_options(), "-jar", self.programs.java_jar]
            env.update(PORT=str(self.port), PEERS=peers, HOSTNAME_OVERRIDE=JAVA_HOSTS[self.number])
        else:
            command = [self.programs.eurekad, f"--server.port={self.port}", f"--server.address={HOST}",
                       f"--peers={peers}", *flags]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    async def ready(self, poll_s: float = 0.02) -> None:
        raw = get("/eureka/apps") if self.kind == "java" else get("/health/ready")
        began = now()
        while (await self.pool.ask(raw))[0] != 200:
            if self.process is None or self.process.poll() is not None or now() > began + READY_WITHIN_S:
                raise RuntimeError(f"{self.kind} does not become ready; its log ends:\n"
                                   + server.tail(self.log, 5).rstrip())
            await asyncio.sleep(poll_s)

    def kill(self) -> None:
        """At once: a server of a benchmark has nothing to say good-bye for."""
        if self.process and self.process.poll() is None:
            self.ended_cpu_s = self.cpu_s()
            self.process.kill()
            self.process.wait()
        self.process = None

    def cpu_s(self) -> float:
        return self.ended_cpu_s + (process_cpu_s(self.process.pid) if self.process else 0.0)

    async def metrics(self) -> dict[str, float]:
        """What eurekad's /metrics shows, by name; without what has labels."""
        _, body = await self.pool.ask(get("/metrics"))
        lines = (line.split() for line in body.decode().splitlines() if not line.startswith("#"))
        return {name: float(value) for name, value in lines if "{" not in name}


class Cluster:
    """So many servers of one kind that are each other's peers; `async with` starts them and ends them."""

    def __init__(self, kind: str, size: int, programs: Programs, *flags: str) -> None:
        self.nodes = [Node(kind, number, programs) for number in range(size)]
        self.peers = ",".join(node.url for node in self.nodes)
        self.flags = flags

    async def __aenter__(self) -> list[Node]:
        try:
            for node in self.nodes:
                self.start(node)
            await asyncio.gather(*(node.ready() for node in self.nodes))
        except BaseException:
            self.end()
            raise
        return self.nodes

    async def __aexit__(self, *_: object) -> None:
        self.end()

    def start(self, node: Node) -> None:
        node.start(self.peers, *self.flags)

    def end(self) -> None:
        for node in self.nodes:
            node.pool.close()
            node.kill()
