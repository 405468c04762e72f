#!/usr/bin/env python3
"""Stands in for a peer and writes down what a server replicates to it.

    python3 peer_sink.py SERVER_BASE SINK_PORT [OUT_DIR]

Start the server under record with this sink among its peers, under a host name of its own: with
SINK_PORT 8762 the peers are http://peer1:8761/eureka/,http://peer2:8762/eureka/. The sink drives
SERVER_BASE through one call of each kind, 2 s apart, and saves each request that comes in as
OUT_DIR/NNN-<label>.json (default: the folder "outbound" beside this file).
"""
import gzip
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cases import DIRTY, inst, reg, req
from record import HERE, Server

LABEL = ["start"]
SEEN = []
LOCK = threading.Lock()
VOLATILE = {"date", "host"}


class Sink(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        n = int(self.headers.get("Content-Length") or 0)
        chunked = "chunked" in (self.headers.get("Transfer-Encoding") or "")
        raw = b""
        if chunked:
            while True:
                size = int(self.rfile.readline().split(b";")[0], 16)
                raw += self.rfile.read(size)
                self.rfile.readline()
                if not size:
                    break
        else:
            raw = self.rfile.read(n)
        headers = {k.lower(): v for k, v in self.headers.items() if k.lower() not in VOLATILE}
        if headers.get("content-encoding") == "gzip":
            raw = gzip.decompress(raw)
        text = raw.decode()
        status, body = 200, b""
        if "peerreplication" in self.path:
            items = json.loads(text)["replicationList"]
            body = json.dumps({"responseList": [{"statusCode": 200} for _ in items]}).encode()
        elif self.command == "GET":
            body = b'{"applications":{"versions__delta":"1","apps__hashcode":"","application":[]}}'
        elif self.command == "POST":
            status = 204
        with LOCK:
            SEEN.append({"after": LABEL[0], "request": {"method": self.command, "path": self.path, "headers": headers, "body": text}})
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *args):
        pass


def main():
    base, port = sys.argv[1], int(sys.argv[2])
    out = sys.argv[3] if len(sys.argv) > 3 else os.path.join(HERE, "outbound")
    os.makedirs(out, exist_ok=True)
    httpd = ThreadingHTTPServer(("127.0.0.1", port), Sink)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    s = Server(base)
    i = "/apps/GOLD-R/r-1"
    steps = [
        ("register", reg(inst("GOLD-R", "r-1"))),
        ("heartbeat", req("PUT", i + f"?status=UP&lastDirtyTimestamp={DIRTY}")),
        ("heartbeat-bare", req("PUT", i)),
        ("status-put", req("PUT", i + f"/status?value=OUT_OF_SERVICE&lastDirtyTimestamp={DIRTY + 3}")),
        ("heartbeat-overridden", req("PUT", i + f"?status=UP&lastDirtyTimestamp={DIRTY + 3}")),
        ("status-delete", req("DELETE", i + f"/status?value=UP&lastDirtyTimestamp={DIRTY + 4}")),
        ("metadata-put", req("PUT", i + "/metadata?colour=blue")),
        ("register-again", reg(inst("GOLD-R", "r-1", lastDirtyTimestamp=str(DIRTY + 9)))),
        ("register-as-replica", reg(inst("GOLD-R", "r-2"), headers={"x-netflix-discovery-replication": "true"})),
        ("cancel", req("DELETE", i)),
        ("cancel-unknown", req("DELETE", "/apps/GOLD-R/nobody")),
        ("heartbeat-unknown", req("PUT", "/apps/GOLD-R/nobody?status=UP")),
    ]
    for label, r in steps:
        with LOCK:
            LABEL[0] = label
        status = s.send(r)[0]
        time.sleep(2)
        with LOCK:
            mine = [x for x in SEEN if x["after"] == label]
        print(f"{label:<22} answered {status}; the peer got " + (", ".join(
            f"{x['request']['method']} {x['request']['path']}" for x in mine) or "nothing"))
    with LOCK:
        LABEL[0] = "cleanup"
    s.send(req("DELETE", "/apps/GOLD-R/r-2"))
    time.sleep(1)
    for old in os.listdir(out):
        if old.endswith(".json"):
            os.remove(os.path.join(out, old))
    for n, x in enumerate((x for x in SEEN if x["after"] != "cleanup" and "EUREKA" not in x["request"]["body"]), 1):
        with open(os.path.join(out, f"{n:03d}-{x['after']}.json"), "w", encoding="utf-8") as f:
            json.dump(x, f, indent=1, ensure_ascii=False)
            f.write("\n")
    httpd.shutdown()


if __name__ == "__main__":
    main()
