"""Starts the server under test on this machine, asks it, stops it."""
import http.client
import os
import random
import socket
import subprocess
import sys
import time
from typing import IO, Optional

HOST = "127.0.0.1"
# A start takes well under a second; the bound is for machines that are busy compiling.
READY_WITHIN_S = 60


def binary(given: Optional[str] = None) -> str:
    """The binary to test: the argument, or $EUREKAD_BIN, or what `scripts/test build` made."""
    target = os.environ.get("CARGO_TARGET_DIR") or os.path.join(os.path.dirname(__file__), "..", "..", "target")
    path = given or os.environ.get("EUREKAD_BIN") or os.path.join(target, "ci", "eurekad")
    if not os.access(path, os.X_OK):
        sys.exit(f"{path}: no such program; build it with: cargo build --locked --profile ci --bin eurekad")
    return os.path.abspath(path)


def free_port(*hosts: str) -> int:
    """Free at each of these addresses, by default at HOST. Below the ports that the system gives to outgoing
    connections: a client that keeps trying to connect while the server is down could otherwise be given, and so take,
    the server's port."""
    while True:
        port = random.randrange(20000, 30000)
        if all(_is_free(host, port) for host in hosts or (HOST,)):
            return port


def _is_free(host: str, port: int) -> bool:
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind((host, port))
            return True
        except OSError:
            return False


def free_ports(count: int) -> int:
    """The first of so many ports that follow each other and are free."""
    while True:
        first = random.randrange(20000, 30000 - count)
        sockets = []
        try:
            for port in range(first, first + count):
                s = socket.socket()
                sockets.append(s)
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                s.bind((HOST, port))
            return first
        except OSError:
            continue
        finally:
            for s in sockets:
                s.close()


def ask(port: int, method: str, path: str, body: Optional[str] = None, timeout_s: float = 10,
        host: str = HOST) -> tuple[int, bytes]:
    """One request in JSON; (0, b"") if nobody answers."""
    conn = http.client.HTTPConnection(host, port, timeout=timeout_s)
    try:
        conn.request(method, path, body, {"Accept": "application/json", "Content-Type": "application/json"})
        answer = conn.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        conn.close()


def start(program: str, port: int, log: IO, *flags: str) -> subprocess.Popen:
    """Starts the server and returns when it is ready; exits if it does not become ready."""
    server = subprocess.Popen([program, "--port", str(port), "--bind", HOST, *flags],
                              stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + READY_WITHIN_S
        while ask(port, "GET", "/health/ready", timeout_s=2)[0] != 200:
            if server.poll() is not None:
                sys.exit(f"the server ended with code {server.returncode} before it was ready")
            if time.monotonic() > deadline:
                sys.exit(f"the server is not ready after {READY_WITHIN_S} s")
            time.sleep(0.05)
    except BaseException:
        server.kill()
        server.wait()
        raise
    return server


def stop(process: subprocess.Popen, within_s: float = 20) -> int:
    """SIGTERM, and SIGKILL if that does not do; returns the exit code."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(within_s)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait()


def tail(path: str, lines: int = 25) -> str:
    """The end of a log, indented."""
    with open(path, encoding="utf-8", errors="replace") as f:
        return "".join(f"    {line}" for line in f.readlines()[-lines:])
