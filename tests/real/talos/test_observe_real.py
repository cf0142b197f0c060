"""Observing real nodes, from maintenance mode to a running etcd, and their health beside `talosctl health`."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from talosmith.desired.talosconfig import new_talosconfig
from talosmith.desired.target import Desired
from talosmith.errors import Temporary
from talosmith.inventory import check
from talosmith.model.machines import Machine
from talosmith.observed.etcd import look_at_member
from talosmith.observed.health import look_once, wait_healthy
from talosmith.observed.observe import observe
from talosmith.observed.world import EtcdSeen, Observed, Unknown
from talosmith.providers.metal import MetalProvider
from talosmith.talos import MaintenanceClient, TalosClient
from tests.lab.lab_worlds import quick_bundle
from tests.real.talos.cluster import talosctl
from tests.real.talos.fixtures import MakeNodes
from tests.real.talos.lab import Lab, Node
from tests.real.talos.machine_config import controlplane_patch, patch

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

LINE = re.compile(r"waiting for (.+?): (.+)")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def desired_of(folder: Path, lab: Lab, first: Node, worker: Node) -> Desired:
    """JSON is YAML."""
    folder.mkdir()
    inventory = {
        "cluster_name": "real",
        "talos_version": "v1.13.9",
        "kubernetes_version": "v1.36.3",
        "metal": {},
        "network": {"endpoint": first.address},
        "controlplane": [
            {"name": first.name, "ip": first.address, "disk": "/dev/vda", "patches": [controlplane_patch(lab)]}
        ],
        "workers": [{"name": worker.name, "ip": worker.address, "disk": "/dev/vda"}],
        "patches": [patch(lab)],
    }
    (folder / "cluster.yaml").write_text(json.dumps(inventory), encoding="utf-8")
    return Desired(check(folder, None).cluster, quick_bundle())


async def until(look: Callable[[], Awaitable[Observed]], holds: Callable[[Observed], bool]) -> Observed:
    found = await look()
    async with asyncio.timeout(120):
        while not holds(found):
            await asyncio.sleep(0.3)
            found = await look()
    return found


async def test_from_maintenance_mode_to_etcd(talos_lab: Lab, talos_nodes: MakeNodes, tmp_path: Path) -> None:
    first, worker = talos_nodes(2)
    desired = desired_of(tmp_path / "inventory", talos_lab, first, worker)
    provider = MetalProvider(desired.cluster.nodes, desired.owner, authority=desired.bundle.os.certificate)
    async with TalosClient.from_bundle(desired.bundle) as talos, MaintenanceClient() as maintenance:

        async def look() -> Observed:
            return await observe(desired, provider, talos, maintenance, kube=None)

        found = await look()
        assert {seen.stage for seen in found.nodes.values()} == {"maintenance"}
        assert all(seen.fingerprint and seen.fingerprint in _console(seen.name, first, worker) for seen in
                   found.nodes.values())  # fmt: skip
        assert found.bootstrapped is False

        for node in (first, worker):
            await maintenance.node(node.address).apply_config(desired.nodes[node.name].config)
        found = await until(look, lambda world: isinstance(world.nodes[first.name].etcd, EtcdSeen))
        seen = found.nodes[first.name]
        assert isinstance(seen.etcd, EtcdSeen)
        assert (seen.etcd.state, seen.etcd.waiting, seen.etcd.members) == ("Preparing", True, ())
        assert found.bootstrapped is False
        assert seen.config_digest == desired.nodes[first.name].digest

        await _bootstrap(talos, first)
        await _stops_waiting_for_good(talos, first)
        found = await until(look, lambda world: _healthy(world) and _stages(world) == {"running"})
        seen = found.nodes[first.name]
        assert isinstance(seen.etcd, EtcdSeen)
        assert seen.etcd.leader == seen.etcd.member_id != 0
        assert [(member.name, member.addresses) for member in seen.etcd.members] == [(first.name, (first.address,))]
        assert found.bootstrapped is True
        assert found.others == {}
        for node in found.nodes.values():
            assert isinstance(node.machine, Machine)
            assert (node.talos_version, node.stranger, node.pending_reboot) == ("v1.13.9", "", False)
            assert node.config == desired.nodes[node.name].config
            assert node.boot_id

        await wait_healthy(desired, talos, None, report=lambda text: None, limit=120)
        await _agrees_with_talosctl(desired, talos, tmp_path)

        first.cut_power()
        began = time.monotonic()
        found = await look()
        assert time.monotonic() - began < 30
        assert isinstance(found.nodes[first.name].stage, Unknown)
        assert isinstance(found.bootstrapped, Unknown), "a control plane that does not answer may have etcd"


def _console(name: str, *nodes: Node) -> str:
    return next(node.console for node in nodes if node.name == name)


def _healthy(found: Observed) -> bool:
    view = found.etcd()
    return view is not None and all(member.healthy for member in view.members)


def _stages(found: Observed) -> set[object]:
    return {seen.stage for seen in found.nodes.values()}


async def _bootstrap(talos: TalosClient, node: Node) -> None:
    async with asyncio.timeout(60):
        while True:
            try:
                return await talos.node(node.address).bootstrap()
            except Temporary:
                await asyncio.sleep(0.2)


async def _stops_waiting_for_good(talos: TalosClient, node: Node) -> None:
    """For a moment after a bootstrap Talos does not show it; once it has begun to start, etcd is never missed."""
    sure = 0
    async with asyncio.timeout(60):
        while sure < 20:
            try:
                seen = await look_at_member(talos.node(node.address, node.name))
            except Temporary:  # it cannot be told, which is no word for waiting
                continue
            assert not (seen.waiting and sure), seen
            sure += not seen.waiting


async def _agrees_with_talosctl(desired: Desired, talos: TalosClient, folder: Path) -> None:
    """It stops at Kubernetes, of which there is none here; up to that both hold the same of the same conditions."""
    ours = {check.name: verdict.ok for check, verdict in await look_once(desired, talos, None)}
    (first,), (worker,) = desired.controlplanes, desired.workers
    config = new_talosconfig("real", desired.bundle.os, endpoints=[str(first.node.ip)])
    (folder / "talosconfig").write_text(config.to_text().reveal(), encoding="utf-8")
    try:
        text = await asyncio.to_thread(
            talosctl,
            *("--talosconfig", folder / "talosconfig", "--nodes", str(first.node.ip), "health", "--server=false"),
            *("--wait-timeout=12s", "--control-plane-nodes", str(first.node.ip)),
            *("--worker-nodes", str(worker.node.ip)),
        )
    except Exception as wrong:
        text = str(wrong)
    told = dict(LINE.findall(text))
    assert {name: told.get(name) for name in ours} == dict.fromkeys(ours, "OK")
    assert all(ours.values())
