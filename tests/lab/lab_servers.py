"""What tests do with a lab that serves: bring a cluster up in it, and wait for what they need."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from talosmith_lab import configure, joining
from talosmith_lab.server.lab import LabServer
from tests.lab.lab_clients import DEADLINE
from tests.lab.lab_worlds import Configs


def vip_of(server: LabServer) -> str:
    return str(server.world.subnet[5])


def address(server: LabServer, name: str) -> str:
    return server.world.machines[name].address


async def settled(server: LabServer, until: Any) -> None:
    async with asyncio.timeout(DEADLINE):
        while not until():
            await asyncio.sleep(0.01)


def at_rest(server: LabServer) -> bool:
    """Nothing more is going to happen by itself, so what is seen now stays."""
    return len(server.world.timeline) == 0


async def cluster(server: LabServer, configs: Configs, *names: str) -> Configs:
    """A cluster of these machines, ready, with a virtual address; all control planes have a vote in etcd."""
    made = Configs(bundle=configs.bundle, vip=vip_of(server))
    for name in names:
        server.control.create(name)
    await settled(server, lambda: all(waits(server, name) for name in names))
    for name in names:
        role = "controlplane" if name.startswith("cp") else "worker"
        configure.apply(server.world, server.world.machines[name], made.text(role, name), "AUTO")
    server.engine.commit()
    await settled(server, lambda: server.world.machines[names[0]].runs("kubelet"))
    joining.bootstrap(server.world, server.world.machines[names[0]])
    server.engine.commit()
    await settled(server, lambda: at_rest(server) and all(ready(server, name) for name in names))
    return made


def stage(server: LabServer, name: str) -> str:
    run = server.world.machines[name].run
    return run.stage if run else ""


def waits(server: LabServer, name: str) -> bool:
    """For a config, in maintenance mode; its API answers a moment after that has begun."""
    return stage(server, name) == "maintenance" and server.world.machines[name].runs("apid")


def ready(server: LabServer, name: str) -> bool:
    run = server.world.machines[name].run
    return bool(run and run.stage == "running" and run.ready)


async def refused(call: Any, status: Status) -> str:
    with pytest.raises(GRPCError) as failure:
        await call
    assert failure.value.status is status, failure.value
    return failure.value.message or ""
