"""A client that fetches: everything once, then what changed, and everything again when its count is off.

Modelled is what decides about a full fetch: the status of each instance, changed by each delta's ADDED, MODIFIED and
DELETED in their order, and the hash code that Eureka makes of the number of instances per status. Nothing else of an
instance is kept.
"""
import functools
import gzip
import json
from collections import Counter
from typing import Optional

from load import Pool, get

FULL = get("/eureka/apps", "Accept-Encoding: gzip")
DELTA = get("/eureka/apps/delta", "Accept-Encoding: gzip")


def listed(document: dict) -> list[dict]:
    return [instance for app in document["application"] for instance in app["instance"]]


def key(instance: dict) -> tuple[str, str]:
    return instance["app"], instance["instanceId"]


# Clients that fetch at one time get the same bytes; reading them once spares the loader's core for the servers.
@functools.lru_cache(maxsize=4)
def statuses_of(zipped: bytes) -> dict[tuple[str, str], str]:
    document = json.loads(gzip.decompress(zipped))["applications"]
    return {key(instance): instance["status"] for instance in listed(document)}


class Fetcher:
    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.statuses: Optional[dict[tuple[str, str], str]] = None
        self.full_fetches = self.deltas = self.changes = self.failed = 0

    def hash_code(self) -> str:
        assert self.statuses is not None
        counts = Counter(self.statuses.values())
        return "".join(f"{status}_{counts[status]}_" for status in sorted(counts))

    async def fetch(self) -> None:
        if self.statuses is None or not await self.apply_delta():
            await self.fetch_all()

    async def fetch_all(self) -> None:
        status, zipped = await self.pool.ask(FULL)
        if status != 200:
            self.failed += 1
            return
        self.statuses = dict(statuses_of(zipped))
        self.full_fetches += 1

    async def apply_delta(self) -> bool:
        """Whether what this client has after the delta is what the server has."""
        assert self.statuses is not None
        status, zipped = await self.pool.ask(DELTA)
        if status != 200:
            self.failed += 1
            return True  # the next one in time will do
        document = json.loads(gzip.decompress(zipped))["applications"]
        changes = listed(document)
        for instance in changes:
            if instance["actionType"] == "DELETED":
                self.statuses.pop(key(instance), None)
            else:
                self.statuses[key(instance)] = instance["status"]
        self.deltas += 1
        self.changes += len(changes)
        return self.hash_code() == document["apps__hashcode"]
