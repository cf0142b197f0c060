"""Certificates outside their validity period: such a node is no new machine, whoever's clock is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from talosmith.desired import pki
from talosmith.desired.pki import KeyKind
from talosmith.desired.target import Desired
from talosmith.model.machines import Machine, MachineSpec
from talosmith.observed import nodes as asking
from talosmith.observed.doctor import examine
from talosmith.observed.observe import observe
from talosmith.observed.world import Observed, Unknown
from talosmith.operations import up
from talosmith.operations.operation import Facts
from talosmith.providers.base import Finding, Provider
from talosmith.talos import Address, MaintenanceClient, TalosClient
from talosmith.talos.grpc import connecting, http2
from tests.unit.talos.server import expired_twin, refusing, server_context

PATIENCE = 120.0  # seconds
WRONG = timedelta(days=2)
Nodes = Callable[[Desired], AbstractContextManager[Address]]


class OneMachine:
    """A provider with the machine of cp-1."""

    name, seeds, creates = "one", False, True

    def __init__(self, address: Address) -> None:
        self._address = f"{address.host}:{address.port}"

    async def find(self) -> list[Machine]:
        return [Machine(id="1", name="cp-1", role="controlplane", power="on", endpoint=self._address)]

    async def preflight(self, specs: Sequence[MachineSpec]) -> list[Finding]:
        return []


@pytest.fixture(autouse=True)
def on_a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((http2, "_SPEAK_FIRST"), (connecting, "_LOOK"), (asking, "CONNECT"), (asking, "_PROBE")):
        monkeypatch.setattr(module, name, PATIENCE)


def serves(start: timedelta) -> Nodes:
    return lambda desired: refusing(server_context(desired.bundle.os, start=datetime.now(UTC) + start))


def refuses(desired: Desired) -> AbstractContextManager[Address]:
    """As a node does by whose clock our certificate is out of time, while its own is valid here."""
    return refusing(server_context(desired.bundle.os, clients=expired_twin(desired.bundle.os)))


async def looked(desired: Desired, nodes: Nodes) -> tuple[Observed, list[Finding]]:
    with nodes(desired) as address:
        provider: Provider = OneMachine(address)  # type: ignore[assignment]
        async with TalosClient.from_bundle(desired.bundle) as talos, MaintenanceClient() as maintenance:
            found = await observe(desired, provider, talos, maintenance, kube=None)
            return found, await examine(desired, provider, talos, [Path("/")], found, None)


def with_authority(desired: Desired, start: timedelta) -> Desired:
    made = pki.new_authority("talos", KeyKind.ED25519, now=datetime.now(UTC) + start)
    return Desired(desired.cluster, replace(desired.bundle, os=made))


CASES: dict[str, tuple[Nodes, timedelta | None, str]] = {
    "the node is behind": (serves(-WRONG), None, "certificate has expired: valid from 2"),
    "the node is ahead": (serves(WRONG), None, "certificate is not yet valid: valid from 2"),
    "the node refuses ours": (
        refuses,
        None,
        "client certificate has expired or is not yet valid by the node's clock",
    ),
    "this computer is behind": (serves(timedelta()), WRONG, "CA certificate of the Talos API is not yet valid"),
    "this computer is ahead": (serves(timedelta()), -9000 * WRONG, "CA certificate of the Talos API has expired"),
}


@pytest.mark.parametrize("case", CASES)
async def test_a_certificate_out_of_time_is_blocked_and_told_by_doctor(case: str, desired: Desired) -> None:
    nodes, authority, said = CASES[case]
    chosen = desired if authority is None else with_authority(desired, authority)
    found, told = await looked(chosen, nodes)
    seen = found.nodes["cp-1"]
    assert said in seen.foreign_reason and "; fix: " in seen.foreign_reason
    assert isinstance(seen.stage, Unknown) and isinstance(seen.etcd, Unknown)
    plan = up.build(chosen, found, up.UpOptions(), Facts())
    assert any(said in str(blocked) for blocked in plan.blocked)
    assert not any(step.key == "node/cp-1/config" for step in plan), "a node that answers is no new machine"
    (error,) = [one for one in told if one.level == "error" and said in one.cause]
    assert error.fix
