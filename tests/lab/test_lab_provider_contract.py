"""The lab's provider keeps to what every provider must; and one that does not is found out."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from talosmith.errors import TalosmithError, Temporary
from talosmith.model.machines import CLUSTER_TAG, NODE_TAG, Machine, MachineSpec
from talosmith.model.secret import Secret
from talosmith.providers.lab import LabProvider
from talosmith.providers.lab import provider as module
from talosmith_lab.server.lab import LabOptions, LabServer
from tests.lab.provider_harness import LabHarness
from tests.provider_contract import CreatingProviderContract

pytestmark = pytest.mark.slow


@pytest.fixture
async def harness(tmp_path: Path, network: str) -> AsyncIterator[LabHarness]:
    async with LabServer(tmp_path, LabOptions(clock="instant", network=network)) as server:
        made = LabHarness(server)
        await made.provider().create(made.spec("cp-1", "controlplane"))
        yield made


class TestLabProvider(CreatingProviderContract):
    """All of it."""


# Providers with one defect each


class TakesEverything(LabProvider):
    def _is_ours(self, described: Mapping[str, Any]) -> bool:
        return NODE_TAG in described["tags"]


class GoesByTheClustersName(LabProvider):
    def _is_ours(self, described: Mapping[str, Any]) -> bool:
        return bool(described["tags"].get(CLUSTER_TAG) == self._owner.cluster)


class TakesANameForAMachine(LabProvider):
    async def destroy(self, machine: Machine) -> None:
        for one in await self.find():
            if one.name == machine.name:
                await super().destroy(one)


class CountsWhatIsListed(LabProvider):
    async def destroy(self, machine: Machine) -> None:
        if [one.id for one in await self.find()] == [machine.id]:
            await self._home.delete()
        else:
            await super().destroy(machine)


class MakesADifferentOneEachTime(LabProvider):
    """Looks at the list, and trusts it."""

    numbers = itertools.count()

    async def create(self, spec: MachineSpec, seed: Secret | None = None) -> Machine:
        for machine in await self.find():
            if machine.name == spec.name:
                return machine
        calls = await self._home.make()
        hardware = {**self._hardware(spec, seed), "address": None}
        name = f"{spec.name}-{next(self.numbers)}"
        return module._machine(await calls("machine.create", name=name, **hardware))

    def _is_ours(self, described: Mapping[str, Any]) -> bool:
        return self._owner.owns(described["tags"])


class GivesUpTheWholeForAPart(LabProvider):
    """Asks for much before it finds out that it has to begin again."""

    async def create(self, spec: MachineSpec, seed: Secret | None = None) -> Machine:
        for _ in range(12):
            await self.find()
        return await super().create(spec, seed)


class Complains(LabProvider):
    async def destroy(self, machine: Machine) -> None:
        if machine.name not in [one.name for one in await self.find()]:
            raise Temporary("there is no such machine")
        await super().destroy(machine)


@pytest.mark.parametrize(
    ("defect", "found_by"),
    [
        (TakesEverything, "test_foreign_machines_are_not_seen_and_not_touched"),
        (GoesByTheClustersName, "test_foreign_machines_are_not_seen_and_not_touched"),
        (GoesByTheClustersName, "test_machines_are_found_by_their_tags_alone"),
        (TakesANameForAMachine, "test_who_came_later_is_not_destroyed_for_who_was_there"),
        (CountsWhatIsListed, "test_what_is_not_seen_is_not_lost_with_what_is"),
        (MakesADifferentOneEachTime, "test_created_by_many_at_once_is_created_once"),
        (MakesADifferentOneEachTime, "test_what_is_not_seen_for_a_minute_is_not_made_again"),
        (GivesUpTheWholeForAPart, "test_one_failure_in_ten_costs_half_as_many_calls_again_at_most"),
        (Complains, "test_a_gone_machine_is_destroyed_silently"),
        (Complains, "test_destroyed_twice_is_destroyed_once"),
    ],
)
async def test_a_defect_is_found(harness: LabHarness, defect: type[LabProvider], found_by: str) -> None:
    harness.provided = defect
    with pytest.raises((AssertionError, TalosmithError)):
        await getattr(CreatingProviderContract(), found_by)(harness)
