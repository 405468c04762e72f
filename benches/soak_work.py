"""What a soak sends: everything that clients do, right and wrong, as requests and the codes that may answer them."""
import asyncio
import gzip
import itertools
import json
import random
import socket
import struct
from typing import Iterator, NamedTuple

from load import DIRTY, HOST, app, beat, cancel, get, instance, instance_id, register, request

JSON, XML = "Content-Type: application/json", "Content-Type: application/xml"
STEADY, SHORT = "SOAK", "BRIEF"  # which applications
FLEET = 300                      # instances that stay
BRIEF_IDS = 1_000_000            # ids come again after so many
# The codes that the API is documented to answer wrong input with.
REFUSED = frozenset({400, 403, 404, 405, 406, 408, 409, 413, 414, 415, 431})


class Call(NamedTuple):
    raw: bytes
    codes: frozenset


def call(raw: bytes, *codes: int) -> Call:
    return Call(raw, frozenset(codes))


# ---- what clients do -------------------------------------------------------------------------------------------------

def path(k: int, stem: str) -> str:
    return f"/eureka/apps/{app(k, stem)}/{instance_id(k)}"


def registrations(chance: random.Random) -> Iterator[Call]:
    """The same instances again and again, each time a little different."""
    for n in itertools.count():
        status = chance.choice(["UP", "UP", "UP", "DOWN", "STARTING"])
        yield call(register(n % FLEET, STEADY, 90, status, DIRTY + n), 204)


def short_lives(_: random.Random) -> Iterator[Call]:
    """Instances that nobody has seen before, and that nobody renews: each is evicted."""
    for n in itertools.count():
        k = n % BRIEF_IDS
        body = instance(k, SHORT, 3, "UP", DIRTY)
        body["instance"]["app"] = f"{SHORT}-{k % 20}"
        body["instance"]["leaseInfo"]["renewalIntervalInSecs"] = 1
        packed = n % 3 == 0
        data = json.dumps(body).encode()
        data = gzip.compress(data) if packed else data
        headers = [JSON, *(["Content-Encoding: gzip"] if packed else [])]
        yield call(request("POST", f"/eureka/apps/{SHORT}-{k % 20}", data, *headers), 204)


def heartbeats(chance: random.Random) -> Iterator[Call]:
    while True:
        yield call(beat(chance.randrange(FLEET), STEADY), 200, 404)


def statuses(chance: random.Random) -> Iterator[Call]:
    while True:
        where = path(chance.randrange(FLEET), STEADY)
        status = chance.choice(["OUT_OF_SERVICE", "DOWN", "UP"])
        yield call(request("PUT", f"{where}/status?value={status}&lastDirtyTimestamp={DIRTY}"), 200, 404)
        yield call(request("DELETE", f"{where}/status"), 200, 404)


def metadata(chance: random.Random) -> Iterator[Call]:
    for n in itertools.count():
        yield call(request("PUT", f"{path(chance.randrange(FLEET), STEADY)}/metadata?k{n % 5}=v{n}"), 200, 404)


def cancellations(chance: random.Random) -> Iterator[Call]:
    """Some go, and come back when they are registered again."""
    while True:
        yield call(cancel(chance.randrange(FLEET), STEADY), 200, 404)


def fetches(chance: random.Random) -> Iterator[Call]:
    paths = ["/eureka/apps", "/eureka/apps/delta", "/eureka/apps", "/eureka/apps/delta",
             f"/eureka/apps/{app(0, STEADY)}", f"/eureka/vips/{app(20, STEADY).lower()}", "/eureka/svips/nobody",
             path(1, STEADY), f"/eureka/instances/{instance_id(2)}"]
    for where in itertools.cycle(paths):
        headers = [f"Accept: application/{chance.choice(['json', 'xml'])}"]
        headers += ["Accept-Encoding: gzip"] if chance.random() < 0.5 else []
        headers += ["X-Eureka-Accept: compact"] if chance.random() < 0.3 else []
        yield call(request("GET", where, b"", *headers), 200, 404)


def batches(chance: random.Random) -> Iterator[Call]:
    """What a Java server tells: some of it is unknown here, some cannot be read."""
    while True:
        items = [{"appName": app(k, STEADY), "id": instance_id(k), "lastDirtyTimestamp": DIRTY, "status": "UP",
                  "action": chance.choice(["Heartbeat", "Cancel", "StatusUpdate", "DeleteStatusOverride", "Explode"])}
                 for k in (chance.randrange(2 * FLEET) for _ in range(20))]
        data = json.dumps({"replicationList": items}).encode()
        yield call(request("POST", "/eureka/peerreplication/batch/", data, JSON), 200)


def looks(_: random.Random) -> Iterator[Call]:
    """What people and machines look at."""
    for where in itertools.cycle(["/", "/metrics", "/eureka/status", "/health/ready", "/health/live"]):
        yield call(get(where), 200)


# ---- what they should not do -----------------------------------------------------------------------------------------

def wrong_input(chance: random.Random) -> Iterator[Call]:
    orders = "/eureka/apps/ORDERS"
    good = json.dumps(instance(0, "ORDERS", 90, "UP", DIRTY)).encode()
    bodies = [b"", b"{", b"[" * 5000, b"null", b"\xff\xfe\x00", good[:200], good + b"x", b'{"instance":{}}',
              good.replace(b"host-00000", b"\\u0000"), b"<instance>", b"<!DOCTYPE a [<!ENTITY b 'c'>]><instance>&b;</instance>"]
    fixed = [
        *(request("POST", orders, body, kind) for body in bodies for kind in (JSON, XML)),
        request("POST", orders, b" " * 300_000, JSON),
        request("POST", orders, gzip.compress(b" " * 3_000_000), JSON, "Content-Encoding: gzip"),
        request("POST", orders, good, JSON, "Content-Encoding: gzip"),
        request("POST", orders, good, JSON, "Content-Encoding: br"),
        request("POST", orders, good, "Content-Type: text/plain"),
        request("POST", "/eureka/apps/ANOTHER", good.replace(b'"app"', b'"nap"'), JSON),
        request("PUT", f"{orders}/x?lastDirtyTimestamp=soon"), request("PUT", f"{orders}/x/status"),
        request("PUT", f"{orders}/x/status?value=%00"), request("PUT", f"{orders}/x/metadata?=%00"),
        request("GET", "/eureka/apps/%FF"), request("GET", "/eureka/no/such/path/at/all"), request("PATCH", orders),
        request("GET", "/eureka/apps", b"", "X: " + "y" * 200_000), request("GET", "/" + "a" * 100_000),
        request("POST", "/eureka/peerreplication/batch/", b'{"replicationList":{}}', JSON),
        request("POST", "/eureka/peerreplication/ours/tell", b"{}", JSON),
        request("POST", "/eureka/peerreplication/ours/tell", b'{"keys":[{"app":"A"}]}', JSON, "eurekad-node: c0ffee"),
    ]
    while True:
        yield Call(chance.choice(fixed), REFUSED)
        # A stranger that says to be a node, a new one each time.
        headers = [JSON, f"eurekad-node: {chance.getrandbits(64):016x}"]
        yield call(request("POST", "/eureka/peerreplication/ours/tell", b'{"keys":[]}', *headers), 200)
        # A name that nobody has had, of which no trace may stay.
        yield call(request("GET", f"/eureka/vips/{chance.getrandbits(64):x}"), 200)


async def break_off(port: int, chance: random.Random) -> None:
    """A connection that says something, or nothing, and is gone; often without a good-bye."""
    words = [b"", b"GET /eureka/apps HT", b"\x16\x03\x01\x02\x00\x01", b"\x00" * 100,
             request("POST", "/eureka/apps/ORDERS", b"x" * 5000, JSON)[:-4000], get("/eureka/apps") * 20]
    try:
        reader, writer = await asyncio.open_connection(HOST, port)
        writer.write(chance.choice(words))
        await asyncio.sleep(chance.choice([0.0, 0.05, 1.0]))
        if chance.random() < 0.5:
            reset = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        writer.close()
        await writer.wait_closed()
    except OSError:
        pass  # being cut off is what it is for


# So many of each in a second.
RATES = {registrations: 40, short_lives: 20, heartbeats: 60, statuses: 20, metadata: 20, cancellations: 5, fetches: 20,
         batches: 3, looks: 2, wrong_input: 20}
BROKEN_PER_S = 5
