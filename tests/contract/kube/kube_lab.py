"""A lab whose Kubernetes API answers, on a thread of its own beside the tests."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path

from talosmith.desired.bundle import Bundle
from talosmith_lab import configure, joining
from talosmith_lab.server.lab import LabOptions, LabServer
from tests.lab.lab_worlds import Configs
from tests.loopback import free_network

Ready = tuple[str, Bundle, Callable[[], object]]  # address, bundle, and how to end it
PATIENCE = 300.0
PORT = 6443


@contextmanager
def lab_kubernetes(folder: Path, *workers: str) -> Iterator[tuple[str, Bundle]]:
    """Where the API of the one control plane, `cp-1`, answers, and the bundle of its cluster."""
    ready: Future[Ready] = Future()
    thread = threading.Thread(target=lambda: asyncio.run(_serve(folder, workers, ready)))
    thread.start()
    try:
        address, bundle, stop = ready.result(PATIENCE)
        yield address, bundle
    finally:
        if ready.done() and not ready.exception():
            stop()
        thread.join()


async def _serve(folder: Path, workers: tuple[str, ...], ready: Future[Ready]) -> None:
    over, loop = asyncio.Event(), asyncio.get_running_loop()
    try:
        async with LabServer(folder, LabOptions(clock="instant", network=free_network())) as server:
            configs = Configs(vip=str(server.world.subnet[5]))
            await _bring_up(server, configs, ("cp-1", *workers))
            address = f"{server.world.machines['cp-1'].address}:{PORT}"
            ready.set_result((address, configs.bundle, lambda: loop.call_soon_threadsafe(over.set)))
            await over.wait()
    except BaseException as problem:
        if ready.done():
            raise
        ready.set_exception(problem)


async def _bring_up(server: LabServer, configs: Configs, names: tuple[str, ...]) -> None:
    machines = server.world.machines

    def is_ready(name: str) -> bool:
        run = machines[name].run
        return bool(run and run.stage == "running" and run.ready)

    for name in names:
        server.control.create(name)
    await _until(lambda: all((run := machines[name].run) and run.stage == "maintenance" for name in names))
    for name in names:
        role = "controlplane" if name.startswith("cp") else "worker"
        configure.apply(server.world, machines[name], configs.text(role, name), "AUTO")
    server.engine.commit()
    await _until(lambda: machines["cp-1"].runs("kubelet"))
    joining.bootstrap(server.world, machines["cp-1"])
    server.engine.commit()
    await _until(lambda: all(map(is_ready, names)))
    async with asyncio.timeout(PATIENCE):
        while not await asyncio.to_thread(_answers, machines["cp-1"].address):
            await asyncio.sleep(0.05)


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.01)


def _answers(address: str) -> bool:
    with suppress(OSError), socket.create_connection((address, PORT), 5):
        return True
    return False
