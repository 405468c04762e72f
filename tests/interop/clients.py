#!/usr/bin/env python3
"""Three real clients and a restart: Spring Cloud, Python and Node clients of one server.

    tests/interop/setup                       # once: builds the clients
    tests/interop/clients.py [BINARY]         # $EUREKAD_BIN or target/ci/eurekad by default

They register and see each other, change their status, survive a server that is killed and comes
back empty, and leave. Ends with `N passed, N failed`; exits 1 if a check failed.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Callable, Optional
from urllib.parse import quote

import server

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.path.abspath(os.environ.get("INTEROP_CACHE") or os.path.join(HERE, "..", "..", "target", "interop"))

# What is checked comes about within seconds; the bounds are for machines that are busy.
CHECK_WITHIN_S = 60
# From the end of a client's process: it has cancelled before, so the first look already tells.
GONE_WITHIN_S = 2
# When this is over, a check gets one look only.
ALL_WITHIN_S = 400

Apps = dict[str, dict[str, str]]  # application -> instance id -> status

began = time.monotonic()
passed = failed = 0


def say(text: str) -> None:
    print(f"{time.monotonic() - began:6.1f} s  {text}", flush=True)


def check(what: str, holds: Callable[[], bool], within_s: float = CHECK_WITHIN_S) -> None:
    global passed, failed
    deadline = min(time.monotonic() + within_s, began + ALL_WITHIN_S)
    while not (ok := holds()) and time.monotonic() < deadline:
        time.sleep(0.1)
    passed, failed = passed + ok, failed + (not ok)
    say(f"{'ok   ' if ok else 'FAIL '} {what}")


@dataclass
class Client:
    name: str
    port: int
    log: str = os.devnull
    process: Optional[subprocess.Popen] = None
    only_up: bool = False  # the library hides what is not UP

    @property
    def app(self) -> str:
        return self.name.upper()

    @property
    def id(self) -> str:
        return f"{self.name}:{self.port}"

    @property
    def path(self) -> str:
        return f"/eureka/apps/{self.app}/{quote(self.id)}"

    def tell(self, command: str) -> None:
        """Gives a driver a command on its standard input."""
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        except OSError:
            say(f"{self.name} does not take {command!r}")

    def view(self) -> Apps:
        """What the client sees: the Java client is asked, the drivers print it whenever it changes."""
        if self.process.stdin is None:
            status, body = server.ask(self.port, "GET", "/seen")
            return json.loads(body) if status == 200 else {}
        apps: Apps = {}
        with open(self.log, encoding="utf-8") as log:
            for line in log:
                if line.startswith('{"event"') and line.endswith("}\n"):
                    apps = json.loads(line).get("apps", apps)
        return apps

    def sees(self, other: "Client", status: str) -> bool:
        view = self.view()
        seen = view.get(other.app, {}).get(other.id)
        if self.only_up and status != "UP":
            return seen is None and self.app in view  # gone, and not because all is gone
        return seen == status


def start_clients(eureka_port: int, folder: str, processes: list[subprocess.Popen]) -> list[Client]:
    url = f"http://{server.HOST}:{eureka_port}/eureka"
    # A proxy of this machine is of no use for calls to itself, and some libraries would take it.
    env = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}

    def client(name: str, command: list[str], stdin: Optional[int] = subprocess.PIPE, **more: str) -> Client:
        port = server.free_port()
        log = os.path.join(folder, f"{name}.log")
        with open(log, "ab") as out:
            process = subprocess.Popen(
                [a.replace("PORT", str(port)) for a in command], env={**env, **more, "PORT": str(port)},
                stdin=stdin, stdout=out, stderr=subprocess.STDOUT, text=True)
        processes.append(process)
        return Client(name, port, log, process, only_up=name == "js-client")

    return [
        client("java-client", ["java", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-jar",
                               os.path.join(CACHE, "java", "interop-java-client.jar")],
               stdin=None, SERVERS=url + "/", RENEW_S="2", EXPIRE_S="6", FETCH_S="1", DISCOVERY_LOG_LEVEL="DEBUG"),
        client("python-client", [os.path.join(CACHE, "python", "bin", "python"),
                                 os.path.join(HERE, "clients", "python", "driver.py"), url, "python-client", "PORT"]),
        client("js-client", ["node", os.path.join(CACHE, "js", "driver.js"), url, "js-client", "PORT"]),
    ]


def registered(port: int) -> Apps:
    status, body = server.ask(port, "GET", "/eureka/apps")
    if status != 200:
        return {}
    return {a["name"]: {i["instanceId"]: i["status"] for i in a["instance"]}
            for a in json.loads(body)["applications"]["application"]}


def check_registered(port: int, clients: list[Client], again: str = "") -> None:
    for c in clients:
        check(f"{c.name} is registered{again}", lambda: registered(port).get(c.app) == {c.id: "UP"})


def check_seen(clients: list[Client], again: str = "") -> None:
    for c in clients:
        others = [o for o in clients if o is not c]
        check(f"{c.name} sees the other two{again}", lambda: all(c.sees(o, "UP") for o in others))


def check_status_changes(port: int, java: Client, python: Client, js: Client) -> None:
    """Java and Python change their own status, each library in its way; Node's is changed from outside."""
    override = js.path + "/status?value="
    steps = [
        (java, "DOWN", lambda: server.ask(java.port, "POST", "/status?value=DOWN")),
        (java, "UP", lambda: server.ask(java.port, "POST", "/status?value=UP")),
        (python, "DOWN", lambda: python.tell("status DOWN")),
        (python, "UP", lambda: python.tell("status UP")),
        (js, "OUT_OF_SERVICE", lambda: server.ask(port, "PUT", override + "OUT_OF_SERVICE")),
        (js, "UP", lambda: server.ask(port, "DELETE", override + "UP")),
    ]
    for changed, status, change in steps:
        change()
        for c in (java, python, js):
            if c is not changed:
                check(f"{changed.name} {status} is seen by {c.name}", lambda: c.sees(changed, status))


def check_deltas(java: Client) -> None:
    """After each delta the Java client computes the hash code of what it now has, and takes the whole
    registry if the server's is another. It says so in its log only."""
    def count(text: str) -> int:
        with open(java.log, encoding="utf-8") as log:
            return sum(text in line for line in log)

    check("java-client has taken two deltas or more", lambda: count("Got delta update with apps hashcode") >= 2)
    check("each delta led java-client to the server's hash code",
          lambda: count("The Reconcile hashcodes do not match") == 0, within_s=0)


def register_marker(port: int) -> Client:
    """An instance that only the restarted server knows, and knows last: who sees it does not see
    the others in an old copy."""
    marker = Client("marker", 1)
    server.ask(port, "POST", f"/eureka/apps/{marker.app}", json.dumps({"instance": {
        "instanceId": marker.id, "hostName": "localhost", "app": marker.app, "ipAddr": server.HOST, "status": "UP",
        "port": {"$": marker.port, "@enabled": "true"}, "vipAddress": marker.name,
        "dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"},
        "leaseInfo": {"renewalIntervalInSecs": 30, "durationInSecs": 900},
    }}))
    return marker


def check_leaves(port: int, c: Client, leave: Callable[[], None]) -> None:
    leave()
    check(f"{c.name} ends when told", lambda: c.process.poll() is not None)
    check(f"{c.name} has cancelled: its instance is unknown",
          lambda: server.ask(port, "GET", c.path)[0] == 404, GONE_WITHIN_S)
    check(f"{c.name} is no longer listed", lambda: c.app not in registered(port))


def scenario(program: str, folder: str, processes: list[subprocess.Popen]) -> None:
    port = server.free_port()
    with open(os.path.join(folder, "server.log"), "ab") as log:
        processes.append(server.start(program, port, log))
        say(f"the server is ready on port {port}")

        clients = java, python, js = start_clients(port, folder, processes)
        check_registered(port, clients)
        check_seen(clients)
        check_status_changes(port, java, python, js)
        check_deltas(java)

        processes[0].kill()
        processes[0].wait()
        say("the server is killed")
        processes[0] = server.start(program, port, log)
        say("the server is ready again, and empty")
        check_registered(port, clients, again=" again")
        marker = register_marker(port)
        for c in clients:
            check(f"{c.name} has fetched anew", lambda: c.sees(marker, "UP"))
        check_seen(clients, again=" again")
        check("no client has ended", lambda: all(c.process.poll() is None for c in clients), within_s=0)

        check_leaves(port, java, java.process.terminate)
        check_leaves(port, python, lambda: python.tell("stop"))
        check_leaves(port, js, lambda: js.tell("stop"))


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the children are stopped then too
    program = server.binary(sys.argv[1] if len(sys.argv) > 1 else None)
    folder = tempfile.mkdtemp(prefix="eurekad-clients-")
    processes: list[subprocess.Popen] = []
    ended = False
    try:
        scenario(program, folder, processes)
        ended = True
    finally:
        for process in processes:
            server.stop(process)
        if ended and not failed:
            shutil.rmtree(folder)
        else:
            for name in sorted(os.listdir(folder)):
                print(f"{name} ends:\n{server.tail(os.path.join(folder, name))}")
            print(f"the whole logs are in {folder}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
