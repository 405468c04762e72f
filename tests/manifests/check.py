"""What cluster/kubernetes comes to, held against the schemas of Kubernetes and the program; the unit of systemd.

Case: P110, as far as files can tell: the name that nodes find each other by is the headless service's, which publishes
those that are not ready too.

Ends with `N passed, N failed`; exits 1 if a check failed. Started by `run`.
"""
import copy
import os
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Callable, Optional

import kubernetes_validate
import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "interop"))
import server  # noqa: E402

ROOT = os.path.join(HERE, "..", "..", "cluster", "kubernetes")
UNIT = os.path.join(HERE, "..", "..", "cluster", "systemd", "eurekad.service")
# The oldest that these manifests are for, and the newest whose schemas there are.
VERSIONS = ("1.29", "1.37")
# Misspelt as people do it: where the field is, its name, and what was written.
MISSPELT = [
    ("Service", ["spec"], "publishNotReadyAddresses", "publishNotReadyAddress"),
    ("StatefulSet", ["spec"], "podManagementPolicy", "podManagmentPolicy"),
    ("StatefulSet", ["spec", "template", "spec"], "enableServiceLinks", "enableServiceLink"),
    ("StatefulSet", ["spec", "template", "spec", "securityContext"], "runAsNonRoot", "runAsNonroot"),
    ("StatefulSet", ["spec", "template", "spec", "containers", 0], "readinessProbe", "readynessProbe"),
    ("StatefulSet", ["spec", "template", "spec", "containers", 0, "readinessProbe", "httpGet"], "path", "paht"),
    ("PodDisruptionBudget", ["spec"], "maxUnavailable", "maxUnavailabel"),
]
passed = failed = 0


def check(what: str, holds: bool, why: str = "") -> None:
    global passed, failed
    passed, failed = passed + holds, failed + (not holds)
    print(f"{'ok   ' if holds else 'FAIL '} {what}" + (f": {why}" if why and not holds else ""), flush=True)


def built(folder: str) -> list[dict]:
    """What kustomize makes of a folder."""
    tool = ["kustomize", "build"] if shutil.which("kustomize") else ["kubectl", "kustomize"]
    made = subprocess.run([*tool, os.path.join(ROOT, folder)], check=True, capture_output=True, text=True)
    if made.stderr:
        sys.exit(f"kustomize warns of {folder}: {made.stderr}")
    return list(yaml.safe_load_all(made.stdout))


def refused(document: dict, version: str) -> Optional[str]:
    """Why Kubernetes' schemas refuse it; None if they do not."""
    try:
        kubernetes_validate.validate(document, version, strict=True)
        return None
    except kubernetes_validate.ValidationError as e:
        return str(e.message)


def one(documents: list[dict], kind: str, having: Callable[[dict], bool] = lambda _: True) -> dict:
    return next(d for d in documents if d["kind"] == kind and having(d))


def check_schemas(folder: str, documents: list[dict]) -> None:
    for version in VERSIONS:
        for document in documents:
            why = refused(document, version)
            check(f"{folder}: Kubernetes {version} takes {document['kind']} {document['metadata']['name']}",
                  why is None, str(why))


def check_misspelt(documents: list[dict]) -> None:
    for kind, path, name, wrong in MISSPELT:
        def inside(document: dict) -> dict:
            for step in path:
                document = document[step]
            return document

        document = copy.deepcopy(one(documents, kind, lambda d: name in inside(d)))
        fields = inside(document)
        fields[wrong] = fields.pop(name)
        why = [refused(document, version) or "" for version in VERSIONS]
        check(f"{wrong} for {name} is refused", all(wrong in text or name in text for text in why), str(why))


def environment(stateful_set: dict) -> dict[str, str]:
    """The container's variables, with what Kubernetes would fill in."""
    known = {"metadata.name": "eurekad-0", "status.podIP": "10.1.2.3"}
    env: dict[str, str] = {}
    for entry in container_of(stateful_set)["env"]:
        value = entry.get("value") or known[entry["valueFrom"]["fieldRef"]["fieldPath"]]
        env[entry["name"]] = re.sub(r"\$\((\w+)\)", lambda m: env[m[1]], value)
    return env


def container_of(stateful_set: dict) -> dict:
    return stateful_set["spec"]["template"]["spec"]["containers"][0]


def check_program(folder: str, documents: list[dict], program: str) -> None:
    """That the program knows what it is told, answers what it is asked, and stops in the time it has."""
    stateful_set = one(documents, "StatefulSet")
    pod, container = stateful_set["spec"]["template"]["spec"], container_of(stateful_set)
    env = environment(stateful_set)
    empty = tempfile.mkdtemp(prefix="eurekad-manifests-")  # no file of settings
    told = subprocess.run([program, "settings"], env=env, cwd=empty, capture_output=True, text=True, check=False)
    check(f"{folder}: the program takes the environment without a word",
          told.returncode == 0 and "arn" not in told.stderr, told.stderr)
    settings = dict(re.findall(r"^(\S+) = (\S*)", told.stdout, re.MULTILINE))
    for name, value in env.items():
        if name.startswith("EUREKA"):
            line = re.search(rf" = {re.escape(value)} .*{name}", told.stdout)
            check(f"{folder}: {name} is a setting", line is not None)
    stop = sum(int(settings[f"eurekad.stop.{part}-ms"]) for part in ("grace", "drain", "flush")) / 1000
    check(f"{folder}: {pod['terminationGracePeriodSeconds']} s are enough for a stop of {stop:.0f} s",
          pod["terminationGracePeriodSeconds"] > stop)
    readiness = container["readinessProbe"]
    noticed = readiness["periodSeconds"] * readiness["failureThreshold"]
    grace = int(settings["eurekad.stop.grace-ms"]) / 1000
    check(f"{folder}: a node that stops is out after {noticed} s, and answers for {grace:.0f} s", noticed < grace)
    name = re.sub(r"^dns\+http://([^:]+):.*", r"\1", env["EUREKAD_PEERS"])
    nodes = one(documents, "Service", lambda d: d["spec"].get("clusterIP") == "None")
    check(f"{folder}: the peers' name is the headless service's",
          name == nodes["metadata"]["name"] == stateful_set["spec"]["serviceName"])
    check(f"{folder}: that service has the nodes that are not ready too", nodes["spec"]["publishNotReadyAddresses"])
    port = server.free_port()
    with open(os.path.join(empty, "log"), "wb") as log:
        node = server.start(program, port, log)
        try:
            for probe in ("readinessProbe", "livenessProbe"):
                path = container[probe]["httpGet"]["path"]
                status = server.ask(port, "GET", path)[0]
                check(f"{folder}: {probe} asks {path}, which answers 200", status == 200, str(status))
        finally:
            server.stop(node)
    shutil.rmtree(empty)


def seconds_to_stop(program: str) -> float:
    told = subprocess.run([program, "settings"], env={}, cwd="/", capture_output=True, text=True, check=True).stdout
    return sum(map(int, re.findall(r"^eurekad\.stop\.\w+-ms = (\d+)", told, re.MULTILINE))) / 1000


def check_unit(program: str) -> None:
    """systemd's own checker has no word to say of the unit, and has one if a word in it is misspelt."""
    with open(UNIT, encoding="utf-8") as file:
        unit = file.read()
    # Where it is to be installed there may be none.
    unit = unit.replace("ExecStart=/usr/local/bin/eurekad", f"ExecStart={program}")

    def words(text: str) -> str:
        with tempfile.TemporaryDirectory(prefix="eurekad-unit-") as folder:
            path = os.path.join(folder, "eurekad.service")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True,
                                  check=False)
            return done.stdout + done.stderr

    check("systemd takes the unit without a word", words(unit) == "", words(unit))
    for name, wrong in (("NoNewPrivileges", "NoNewPriviledges"), ("ProtectSystem=strict", "ProtectSystem=strickt")):
        check(f"{wrong} is refused", "eurekad.service" in words(unit.replace(name, wrong)))
    has, needs = int(re.search(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)[1]), seconds_to_stop(program)
    check(f"its {has} s are enough for a stop of {needs:.0f} s", has > needs)


def main() -> int:
    program = server.binary(sys.argv[1] if len(sys.argv) > 1 else None)
    for folder in ("base", "overlays/production"):
        documents = built(folder)
        check_schemas(folder, documents)
        check_program(folder, documents, program)
        if folder == "base":
            check_misspelt(documents)
    check_unit(program)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
