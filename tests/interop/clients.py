#!/usr/bin/env python3
"""Three real clients and a restart: Spring Cloud, Python and Node clients of one server.

    tests/interop/setup                       # once: builds the clients
    tests/interop/clients.py [BINARY]         # $EUREKAD_BIN or target/ci/eurekad by default

They register and see each other, change their status, survive a server that is killed and comes
back empty, and leave. Ends with `N passed, N failed`; exits 1 if a check failed.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Callable, Optional
from urllib.parse import quote

import checks
import server
from checks import check, say

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.path.abspath(os.environ.get("INTEROP_CACHE") or os.path.join(HERE, "..", "..", "target", "interop"))

# From the end of a client's process: it has cancelled before, so the first look already tells.
GONE_WITHIN_S = 2

Apps = dict[str, dict[str, str]]  # application -> instance id -> status


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


def start_client(kind: str, name: str, urls: list[str], folder: str, processes: list[subprocess.Popen]) -> Client:
    """A client of one of the three kinds, which knows these servers (`http://HOST:PORT/eureka`)."""
    port = server.free_port()
    if kind == "java":
        command = ["java", "-XX:TieredStopAtLevel=1", "-Xmx256m", "-jar",
                   os.path.join(CACHE, "java", "interop-java-client.jar")]
    elif kind == "python":
        command = [os.path.join(CACHE, "python", "bin", "python"),
                   os.path.join(HERE, "clients", "python", "driver.py"), ",".join(urls), name, str(port)]
    else:
        command = ["node", os.path.join(CACHE, "js", "driver.js"), ",".join(urls), name, str(port)]
    # A proxy of this machine is of no use for calls to itself, and some libraries would take it.
    env = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    if kind == "java":
        env.update(PORT=str(port), APP_NAME=name, SERVERS=",".join(url + "/" for url in urls),
                   RENEW_S="2", EXPIRE_S="6", FETCH_S="1", DISCOVERY_LOG_LEVEL="DEBUG")
    log = os.path.join(folder, f"{name}-{port}.log")
    with open(log, "ab") as out:
        process = subprocess.Popen(command, env=env, stdin=None if kind == "java" else subprocess.PIPE, stdout=out,
                                   stderr=subprocess.STDOUT, text=True)
    processes.append(process)
    return Client(name, port, log, process, only_up=kind == "js")


def start_clients(urls: list[str], folder: str, processes: list[subprocess.Popen]) -> list[Client]:
    """One of each kind."""
    return [start_client(kind, f"{kind}-client", urls, folder, processes) for kind in ("java", "python", "js")]


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

        clients = java, python, js = start_clients([f"http://{server.HOST}:{port}/eureka"], folder, processes)
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
        code = checks.end(folder, ended)
    return code


if __name__ == "__main__":
    sys.exit(main())
