"""What every provider with resources must keep to, as tests, beside `contract.py` for machines.

    class TestResources(ResourceContract):
        @pytest.fixture
        async def harness(self) -> AsyncIterator[ResourceHarness]: ...

The harness is a backend without any resource of the cluster, and can be looked into past the provider.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Protocol

from talosmith.errors import Permanent, Temporary
from talosmith.model.machines import Machine, MachineSpec, Owner
from talosmith.model.resources import Resource, ResourceKey, ResourceSpec
from talosmith.plan.step import StepKey
from talosmith.providers.base import HasResources, Known
from tests.provider_contract import persist


class ProviderWithResources(HasResources, Protocol):
    async def find(self) -> list[Machine]: ...

    async def create(self, spec: MachineSpec) -> Machine: ...

    async def destroy(self, machine: Machine) -> None: ...


@dataclass(frozen=True, slots=True)
class ResourceThere:
    """A resource as the backend itself has it, whoever made it."""

    key: ResourceKey
    state: str  # all of it that can be seen, as text


class ResourceHarness(Protocol):
    owner: Owner

    def provider(self) -> Any:  # a ProviderWithResources
        """A new one for the same cluster and backend, as the next process would have."""

    def spec(self, name: str) -> MachineSpec: ...

    async def resources_there(self) -> list[ResourceThere]:
        """All that the backend has, foreign ones too."""

    async def lose_answers(self, times: int) -> None:
        """The next so many calls that create or delete something are executed, and their answers lost."""

    async def drift(self, *, beyond_repair: bool) -> ResourceKey:
        """Somebody changes a resource by hand: so that it can be updated in place, or so that it cannot."""

    async def intrude_resource(self) -> ResourceKey:
        """Somebody else creates a resource of a name that is wanted."""

    async def share(self) -> ResourceKey:
        """Another cluster begins to use a shared resource that exists."""


def in_order(specs: tuple[ResourceSpec, ...]) -> list[ResourceSpec]:
    """Each after what it needs; fails if they need each other."""
    placed: dict[ResourceKey, ResourceSpec] = {}
    while len(placed) < len(specs):
        ready = [one for one in specs if one.key not in placed and all(need in placed for need in one.needs)]
        assert ready, "resources need each other, or one that is not wanted"
        placed |= {one.key: one for one in ready}
    return list(placed.values())


async def create_all(provider: ProviderWithResources, *, members: bool = True) -> dict[ResourceKey, Resource]:
    """All that is wanted, as a plan would have it; without `members` only what machines may stand on."""
    made: dict[ResourceKey, Resource] = {}
    ordered = in_order(provider.resources())
    late = [spec for spec in ordered if spec.members]  # those that need one of them come after it
    early = [spec for spec in ordered if spec not in late and not {*spec.needs} & {one.key for one in late}]
    for spec in [*early, *(one for one in ordered if one not in early)]:
        if members or spec in early:
            machines = {one.name: one for one in await provider.find()}
            known = Known(resources=dict(made), machines=machines)
            made[spec.key] = await persist(lambda spec=spec, known=known: provider.create_resource(spec, known))  # type: ignore[misc]
    return made


async def delete_all(provider: ProviderWithResources, owner: Owner) -> None:
    """All of this cluster's in the reverse order of needs: machines before what they stand on, and after groups."""
    left = {one.key: one for one in await provider.find_resources() if owner.owns(one.tags)}
    while left:
        free = [key for key in left if not any(key in other.needs for other in left.values())]
        early = [key for key in free if left[key].members]
        if not early and not any(one.members for one in left.values()):
            for machine in await provider.find():
                await persist(lambda machine=machine: provider.destroy(machine))  # type: ignore[misc]
        found = left.pop((early or free)[0])
        await persist(lambda found=found: provider.delete_resource(found))  # type: ignore[misc]


class ResourceContract:
    """Needs a fixture `harness`; machines that are members are made by the harness' fixture, or by these tests."""

    async def _found(self, harness: ResourceHarness) -> dict[ResourceKey, Resource]:
        return {one.key: one for one in await harness.provider().find_resources()}

    async def test_what_is_wanted_is_pure_and_has_an_order(self, harness: ResourceHarness) -> None:
        provider = harness.provider()
        assert isinstance(provider, HasResources)
        specs = provider.resources()
        assert specs and specs == harness.provider().resources()
        in_order(specs)
        for spec in specs:
            key = StepKey("resource", "/".join(spec.key), "create")
            assert key.count("/") == 3 and spec.kind and spec.name, key
            json.dumps(dict(spec.settings))
        needs = set(provider.machine_needs(harness.spec("w-1")))
        assert needs <= {spec.key for spec in specs if not spec.members}, "machines and their groups need each other"

    async def test_what_was_created_is_found_as_it_was_wanted(self, harness: ResourceHarness) -> None:
        made = await create_all(harness.provider())
        found = await self._found(harness)
        for spec in harness.provider().resources():
            assert found[spec.key].id == made[spec.key].id
            assert harness.owner.owns(found[spec.key].tags), spec.key
            assert found[spec.key].needs == spec.needs and found[spec.key].shared == spec.shared
            assert harness.provider().difference(found[spec.key], spec).change == "none", spec.key
        before = await harness.resources_there()
        await self._found(harness)
        assert await harness.resources_there() == before, "looking changes nothing"

    async def test_created_twice_is_created_once(self, harness: ResourceHarness) -> None:
        first = await create_all(harness.provider())
        before = await harness.resources_there()
        second = await create_all(harness.provider())
        assert {key: one.id for key, one in first.items()} == {key: one.id for key, one in second.items()}
        assert await harness.resources_there() == before

    async def test_created_by_many_at_once_is_created_once(self, harness: ResourceHarness) -> None:
        ids: list[dict[ResourceKey, str]] = []

        async def create() -> None:
            ids.append({key: one.id for key, one in (await create_all(harness.provider())).items()})

        async with asyncio.TaskGroup() as group:
            for _ in range(4):
                group.create_task(create())
        assert all(one == ids[0] for one in ids), ids
        keys = [one.key for one in await harness.resources_there()]
        assert len(keys) == len(set(keys))

    async def test_answers_that_are_lost_make_no_twin_and_leave_nothing(self, harness: ResourceHarness) -> None:
        empty = await harness.resources_there()
        await harness.lose_answers(3)
        await create_all(harness.provider())
        await harness.lose_answers(0)
        keys = [one.key for one in await harness.resources_there()]
        assert len(keys) == len(set(keys))
        await harness.lose_answers(3)
        await delete_all(harness.provider(), harness.owner)
        await harness.lose_answers(0)
        assert await harness.resources_there() == empty

    async def test_drift_is_shown_and_mended(self, harness: ResourceHarness) -> None:
        provider, known = harness.provider(), await create_all(harness.provider())
        before = await harness.resources_there()
        key = await harness.drift(beyond_repair=False)
        spec = next(one for one in provider.resources() if one.key == key)
        found = (await self._found(harness))[key]
        difference = provider.difference(found, spec)
        assert difference.change == "update" and difference.settings
        assert all(one.before != one.after == spec.settings[one.name] for one in difference.settings)
        machines = {one.name: one for one in await provider.find()}
        mended = await provider.update_resource(found, spec, Known(resources=known, machines=machines))
        assert provider.difference(mended, spec).change == "none" and mended.id == found.id
        assert await harness.resources_there() == before

    async def test_nothing_is_replaced_silently(self, harness: ResourceHarness) -> None:
        provider, known = harness.provider(), await create_all(harness.provider())
        key = await harness.drift(beyond_repair=True)
        before = await harness.resources_there()
        spec = next(one for one in provider.resources() if one.key == key)
        found = (await self._found(harness))[key]
        difference = provider.difference(found, spec)
        assert difference.change == "replace" and difference.settings and difference.remedy
        try:
            await provider.update_resource(found, spec, Known(resources=known, machines={}))
        except Permanent as refused:
            assert refused.hint
        else:
            raise AssertionError("it was replaced")
        assert await harness.resources_there() == before

    async def test_foreign_resources_are_never_touched(self, harness: ResourceHarness) -> None:
        key = await harness.intrude_resource()
        before = await harness.resources_there()
        provider = harness.provider()
        spec = next(one for one in provider.resources() if one.key == key)
        foreign = [one for one in await provider.find_resources() if one.key == key]
        assert not [one for one in foreign if harness.owner.owns(one.tags)]
        known = Known(resources={}, machines={})
        try:
            used = await provider.create_resource(spec, known)
        except Permanent as refused:
            assert spec.name in str(refused) and refused.hint
        else:
            assert not harness.owner.owns(used.tags)
            await provider.delete_resource(used)
        for one in foreign:
            await provider.delete_resource(one)
        assert await harness.resources_there() == before

    async def test_deleted_in_the_reverse_order_of_needs_leaves_nothing(self, harness: ResourceHarness) -> None:
        empty = await harness.resources_there()
        provider = harness.provider()
        made = await create_all(provider)
        before = await harness.resources_there()
        for one in made.values():
            if any(one.key in other.needs for other in made.values()):
                try:
                    await provider.delete_resource(one)
                except Temporary:
                    continue
                assert one.shared, f"{one.key} is in use, and was deleted"
        assert [there.key for there in await harness.resources_there()] == [there.key for there in before]
        await delete_all(provider, harness.owner)
        assert await harness.resources_there() == empty
        for one in made.values():
            await provider.delete_resource(one)  # silent when it is gone
        assert await harness.resources_there() == empty

    async def test_what_machines_stand_on_is_not_deleted_under_them(self, harness: ResourceHarness) -> None:
        provider = harness.provider()
        made = await create_all(provider, members=False)
        machine = await provider.create(harness.spec("w-1"))
        before = {one.key for one in await harness.resources_there()}
        for key in provider.machine_needs(harness.spec("w-1")):
            try:
                await provider.delete_resource(made[key])
            except Temporary as busy:
                assert key.name in str(busy)
            else:
                assert made[key].shared
        assert not set(made) - before and not set(made) - {one.key for one in await harness.resources_there()}
        await provider.destroy(machine)

    async def test_what_is_shared_is_kept_while_others_use_it(self, harness: ResourceHarness) -> None:
        made = await create_all(harness.provider())
        key = await harness.share()
        assert made[key].shared and not made[key].used_by
        assert (await self._found(harness))[key].used_by, "not shown who uses it"
        await harness.provider().delete_resource(made[key])
        assert key in [one.key for one in await harness.resources_there()]
