"""The running cluster as Docker sees it, and what can be done to its nodes."""
import json
import os
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from typing import Mapping, Optional

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
NODE_PORT = "8761/tcp"
BALANCER = "balancer"
LABEL = "com.docker.compose."
TRIES = 10
# No call of Docker takes so long unless the engine is stuck.
PATIENCE_S = 180


class Trouble(Exception):
    """What keeps a drill from going on, in words for who has started it."""


def run(*command: str) -> str:
    """Runs a command and returns what it prints."""
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, cwd=ROOT)
    except FileNotFoundError:
        raise Trouble(f"{command[0]} is missing: install Docker with docker compose (or docker-compose 1.29)") from None
    except subprocess.TimeoutExpired:
        raise Trouble(f"`{' '.join(command)}` does not come to an end") from None
    if ran.returncode != 0:
        raise Trouble(f"`{' '.join(command)}` failed:\n{ran.stderr.strip()}")
    return ran.stdout


def compose_command() -> list[str]:
    """`docker compose` where there is one, else docker-compose 1.29."""
    if shutil.which("docker") and subprocess.run(["docker", "compose", "version"], capture_output=True).returncode == 0:
        return ["docker", "compose"]
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    raise Trouble("neither `docker compose` nor docker-compose is there: install one of them")


def found(file: str) -> str:
    """A compose file of this folder by the name that compose was given, maybe in another folder."""
    places = [os.path.join(ROOT, file), *(os.path.join(ROOT, part, os.path.basename(file)) for part in ("", "cluster"))]
    return next((place for place in places if os.path.exists(place)), file)


@dataclass(frozen=True)
class Container:
    """A container of the cluster, at one moment."""
    service: str
    name: str  # by its number, such as node-2
    id: str
    running: bool
    paused: bool
    started: str
    port: Optional[int]  # on 127.0.0.1; another one after a restart
    networks: dict

    @property
    def addresses(self) -> list[str]:
        return [network["IPAddress"] for network in self.networks.values() if network["IPAddress"]]

    @property
    def works(self) -> bool:
        return self.running and not self.paused


class Cluster:
    """One compose project of this folder."""

    def __init__(self, project: Optional[str] = None):
        listed = run("docker", "ps", "--filter", f"label={LABEL}service=node", "--format",
                     f'{{{{.Label "{LABEL}project"}}}}\t{{{{.Label "{LABEL}project.working_dir"}}}}\t'
                     f'{{{{.Label "{LABEL}project.config_files"}}}}')
        rows = (line.split("\t") for line in listed.splitlines())
        mine = {name: files for name, folder, files in rows
                if os.path.realpath(folder) == ROOT and project in (None, name)}
        if not mine:
            raise Trouble("no cluster of this folder is running; start one with: docker compose up --build -d")
        if len(mine) > 1:
            names = ", ".join(sorted(mine))
            raise Trouble(f"several clusters of this folder are running; choose one with --project: {names}")
        self.project, files = mine.popitem()
        # The names of those that are cut off, by which their peers find them.
        self._aliases: dict[str, list[str]] = {}
        self._compose = [*compose_command(), "--project-name", self.project, "--project-directory", ROOT]
        for file in files.split(","):
            self._compose += ["--file", found(file)]

    def containers(self, service: Optional[str] = None) -> list[Container]:
        """All of a service, or all nodes whatever their zone; those that do not run among them, by their number."""
        found = []
        for one in self._inspected():
            labels = one["Config"]["Labels"]
            name, number = labels[f"{LABEL}service"], int(labels[f"{LABEL}container-number"])
            if name != service and (service or name == BALANCER):
                continue
            ports = one["NetworkSettings"]["Ports"] or {}
            published = ports.get(NODE_PORT) or []
            state = one["State"]
            found.append(((name, number), Container(
                name, f"{name}-{number}", one["Id"], state["Running"], state["Paused"], state["StartedAt"],
                int(published[0]["HostPort"]) if published else None, one["NetworkSettings"]["Networks"])))
        return [container for _, container in sorted(found, key=lambda numbered: numbered[0])]

    def _inspected(self) -> list[dict]:
        """What Docker knows of each container, whatever its service."""
        for _ in range(TRIES):
            ids = run("docker", "ps", "-aq", "--filter", f"label={LABEL}project={self.project}",
                      "--filter", f"label={LABEL}oneoff=False").split()
            try:
                return json.loads(run("docker", "inspect", *ids)) if ids else []
            except Trouble as e:
                # It has been listed, and was gone by the time it was looked at.
                if "No such object" not in str(e):
                    raise
        raise Trouble("containers go faster than they can be looked at")

    def balancer_ports(self) -> tuple[int, int]:
        """Where clients go, and the balancer's own page."""
        running = [one for one in self.containers(BALANCER) if one.works]
        if not running:
            raise Trouble("the cluster's balancer does not run; `docker compose up -d` starts it")
        ports = json.loads(run("docker", "inspect", "-f", "{{json .NetworkSettings.Ports}}", running[0].id))
        return tuple(int(ports[name][0]["HostPort"]) for name in (NODE_PORT, "8404/tcp"))

    def kill(self, node: Container) -> None:
        run("docker", "kill", node.id)

    def start(self, node: Container) -> None:
        run("docker", "start", node.id)

    def stop(self, node: Container) -> None:
        """As a rolling update does: told to end, with the time it needs."""
        run("docker", "stop", "--time", "20", node.id)

    def freeze(self, node: Container) -> None:
        run("docker", "pause", node.id)

    def thaw(self, node: Container) -> None:
        run("docker", "unpause", node.id)

    def cut(self, node: Container) -> None:
        """Off from its peers, but not from the balancer and its own port."""
        self._aliases[node.id] = node.networks[self.peers_network()].get("Aliases") or []
        run("docker", "network", "disconnect", self.peers_network(), node.id)

    def heal(self, node: Container) -> None:
        """Under the names that it had there; Docker itself gives it that of its id once more."""
        aliases = [alias for alias in self._aliases.pop(node.id) if not node.id.startswith(alias)]
        run("docker", "network", "connect", *(word for alias in aliases for word in ("--alias", alias)),
            self.peers_network(), node.id)

    def is_cut(self, node: Container) -> bool:
        return self.peers_network() not in node.networks

    def mend(self, node: Container) -> bool:
        """Whatever this program has done to a node is undone; whether there was anything."""
        cut = node.id in self._aliases and self.is_cut(node)
        if node.paused:
            self.thaw(node)
        if not node.running:
            self.start(node)
        if cut:
            self.heal(node)
        return cut or not node.works

    def check_compose(self) -> None:
        """Raises if compose would not start nodes: its files are not found, or a variable that they need is not set."""
        run(*self._compose, "config", "--quiet")

    def scale(self, count: int) -> None:
        """With zones, of the first one's nodes."""
        self._up({"node": count})

    def replace(self, node: Container) -> None:
        """One node by a container of the image and the settings that compose has now, in its place; all others stay."""
        counts = Counter(one.service for one in self.containers())
        self.stop(node)
        run("docker", "rm", node.id)
        self._up(counts)

    def _up(self, counts: Mapping[str, int]) -> None:
        scale = [word for service, count in counts.items() for word in ("--scale", f"{service}={count}")]
        run(*self._compose, "up", "-d", "--no-build", "--no-recreate", *scale)

    def peers_network(self) -> str:
        return f"{self.project}_peers"
