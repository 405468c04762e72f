#!/usr/bin/env python3
"""Drives the library py-eureka-client by commands on standard input; see the README.

    python3 driver.py SERVER_URL [APP [PORT]]
"""
import asyncio
import json
import logging
import sys
import threading

import py_eureka_client.eureka_client as ec

RENEW_S = 2


class Client(ec.EurekaClient):
    """The library's heartbeat thread outlives `stop`, and registers again what it finds cancelled."""

    beating = threading.Lock()

    async def send_heartbeat(self, *args):
        with self.beating:
            await super().send_heartbeat(*args)

    async def stop(self):
        self.beating.acquire()  # never released: the thread is a daemon and ends with the process
        await super().stop()


def line(event, **more):
    print(json.dumps({"event": event, **more}), flush=True)


async def tell_changes(client):
    told = None
    while True:
        apps = {a.name: {i.instanceId: i.status for i in a.instances} for a in client.applications.applications}
        if apps != told:
            line("apps", apps=apps)
            told = apps
        await asyncio.sleep(0.1)


async def main(server, app="python-client", port="9101"):
    logging.basicConfig(level=logging.WARNING)
    client = Client(
        eureka_server=server, app_name=app, instance_port=int(port),
        instance_id=f"{app}:{port}", instance_host="localhost", instance_ip="127.0.0.1",
        renewal_interval_in_secs=RENEW_S, duration_in_secs=RENEW_S * 3,
        metadata={"zone": "zone-a", "lang": "python"})
    await client.start()
    line("registered")
    telling = asyncio.create_task(tell_changes(client))
    while command := (await asyncio.to_thread(sys.stdin.readline)).split():
        if command[0] == "stop":
            break
        if command[0] == "status":
            await client.status_update(command[1])
            line("status", value=command[1])
    telling.cancel()
    await client.stop()
    line("deregistered")


asyncio.run(main(*sys.argv[1:]))
