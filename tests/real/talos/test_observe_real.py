"""Observing real nodes, from maintenance mode to a running etcd, and their health beside `talosctl health`."""

from __future__ import annotations

import asyncio
import json
import re
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
from talosmith.observed.world import EtcdSeen, NodeSeen, Observed, Unknown
from talosmith.providers.metal import MetalProvider
from talosmith.talos import AlreadyExists, MaintenanceClient, TalosClient
from tests.lab.lab_worlds import quick_bundle
from tests.real.talos.cluster import TalosctlFailed, talosctl
from tests.real.talos.fixtures import MakeNodes
from tests.real.talos.lab import Lab, Node
from tests.real.talos.machine_config import controlplane_patches, of_its_own, patches
from tests.real.talos.patience import PATIENCE, configured, done, eventually
from tests.real.talos.releases import NEWEST

pytestmark = pytest.mark.slow

_TALOSCTL_WAITS = (12, 60, 300)
LINE = re.compile(r"waiting for (.+?): (.+)")


def desired_of(folder: Path, lab: Lab, first: Node, worker: Node) -> Desired:
    """JSON is YAML."""
    folder.mkdir()
    inventory = {
        "cluster_name": "real",
        "talos_version": NEWEST.talos,
        "kubernetes_version": NEWEST.kubernetes,
        "metal": {},
        "network": {"endpoint": first.address},
        "controlplane": [
            {"name": first.name, "ip": first.address, "disk": "/dev/vda", "patches": [*controlplane_patches(lab)]}
        ],
        "workers": [{"name": worker.name, "ip": worker.address, "disk": "/dev/vda"}],
        "patches": [*patches(lab)],
    }
    (folder / "cluster.yaml").write_text(json.dumps(inventory), encoding="utf-8")
    return Desired(check(folder, None).cluster, of_its_own(quick_bundle()))


async def test_from_maintenance_mode_to_etcd(talos_lab: Lab, talos_nodes: MakeNodes, tmp_path: Path) -> None:
    first, worker = talos_nodes(2)
    desired = desired_of(tmp_path / "inventory", talos_lab, first, worker)
    provider = MetalProvider(desired.cluster.nodes, desired.owner, authority=desired.bundle.os.certificate)
    async with TalosClient.from_bundle(desired.bundle) as talos, MaintenanceClient() as maintenance:

        async def look() -> Observed:
            return await observe(desired, provider, talos, maintenance, kube=None)

        found = await eventually(look, lambda world: _stages(world) == {"maintenance"})
        for node in (first, worker):
            assert found.nodes[node.name].fingerprint == node.fingerprint
        assert found.bootstrapped is False

        for node in (first, worker):
            waiting, ours = maintenance.node(node.address), talos.node(node.address)
            await configured(waiting, ours, desired.nodes[node.name].config)
        found = await eventually(look, lambda world: _tells(world.nodes[first.name]))
        seen = found.nodes[first.name]
        assert isinstance(seen.etcd, EtcdSeen)
        assert (seen.etcd.state, seen.etcd.waiting, seen.etcd.members) == ("Preparing", True, ())
        assert found.bootstrapped is False
        assert seen.config_digest == desired.nodes[first.name].digest

        await done(talos.node(first.address).bootstrap, AlreadyExists)
        await _stops_waiting_for_good(talos, first)
        found = await eventually(
            look,
            lambda world: (
                _healthy(world) and _stages(world) == {"running"} and all(map(_tells, world.nodes.values()))
            ),
        )
        seen = found.nodes[first.name]
        assert isinstance(seen.etcd, EtcdSeen)
        assert seen.etcd.leader == seen.etcd.member_id != 0
        assert [(member.name, member.addresses) for member in seen.etcd.members] == [(first.name, (first.address,))]
        assert found.bootstrapped is True
        assert found.not_in_inventory == {}
        for node in found.nodes.values():
            assert isinstance(node.machine, Machine)
            assert (node.talos_version, node.foreign_reason, node.pending_reboot) == (NEWEST.talos, "", False)
            assert node.config == desired.nodes[node.name].config
            assert node.boot_id

        await wait_healthy(desired, talos, None, report=lambda text: None, limit=PATIENCE)
        await _agrees_with_talosctl(desired, talos, tmp_path)

        first.cut_power()
        async with asyncio.timeout(120):  # it is known after a few seconds, and not waited for until it answers
            found = await look()
        assert isinstance(found.nodes[first.name].stage, Unknown)
        assert isinstance(found.bootstrapped, Unknown), "a control plane that does not answer may have etcd"


def _healthy(found: Observed) -> bool:
    view = found.etcd()
    return view is not None and all(member.healthy for member in view.members)


def _stages(found: Observed) -> set[object]:
    return {seen.stage for seen in found.nodes.values()}


def _tells(seen: NodeSeen) -> bool:
    """Whether nothing is unknown that it was asked for; a busy machine may not answer all in time."""
    asked = (seen.stage, seen.talos_version, seen.config, seen.etcd)
    return bool(seen.boot_id) and not any(isinstance(answer, Unknown) for answer in asked)


async def _stops_waiting_for_good(talos: TalosClient, node: Node) -> None:
    """For a moment after a bootstrap Talos does not show it; once it has begun to start, etcd is never missed."""
    sure = 0
    async with asyncio.timeout(PATIENCE):
        while sure < 20:
            try:
                seen = await look_at_member(talos.node(node.address, node.name))
            except Temporary:  # it cannot be told, which is no word for waiting
                continue
            assert not (seen.waiting and sure), seen
            sure += not seen.waiting


async def _agrees_with_talosctl(desired: Desired, talos: TalosClient, folder: Path) -> None:
    """It stops at Kubernetes, of which there is none here; up to that both hold the same of the same conditions."""

    async def look() -> dict[str, bool]:
        return {check.name: verdict.ok for check, verdict in await look_once(desired, talos, None)}

    ours = await eventually(look, lambda found: all(found.values()))
    (first,), (worker,) = desired.controlplanes, desired.workers
    config = new_talosconfig("real", desired.bundle.os, endpoints=[str(first.node.ip)])
    (folder / "talosconfig").write_text(config.to_text().reveal(), encoding="utf-8")
    for seconds in _TALOSCTL_WAITS:  # always until its time is over, so it gets more of it only where it is slow
        with pytest.raises(TalosctlFailed) as ended:
            await asyncio.to_thread(
                talosctl,
                *("--talosconfig", folder / "talosconfig", "--nodes", str(first.node.ip), "health", "--server=false"),
                *(f"--wait-timeout={seconds}s", "--control-plane-nodes", str(first.node.ip)),
                *("--worker-nodes", str(worker.node.ip)),
                seconds=PATIENCE,
            )
        told = dict(LINE.findall(str(ended.value)))
        theirs = {name: told.get(name) for name in ours}
        if theirs == dict.fromkeys(ours, "OK"):
            break
    assert theirs == dict.fromkeys(ours, "OK")
