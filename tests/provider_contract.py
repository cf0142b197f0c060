"""What every provider must keep to, as tests: a provider's own test module makes a class of one of these two.

    class TestLab(CreatingProviderContract):
        @pytest.fixture
        async def harness(self) -> AsyncIterator[CreatingHarness]: ...

`ProviderContract` is for all, `CreatingProviderContract` for those that make machines. A harness puts the provider in
front of a backend, real or simulated, that can be looked into past the provider, counts the calls it gets, and lets
things go wrong. Backends differ in how soon they list what they have made, so nothing here insists that a machine is
found at once where the harness hides it; but never are there two.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from talosmith.errors import Permanent, Temporary
from talosmith.model.cluster import Role
from talosmith.model.machines import CLUSTER_TAG, ID_TAG, NODE_TAG, ROLE_TAG, Machine, MachineSpec, Owner
from talosmith.providers.base import FindsRenamed, Provider

T = TypeVar("T")
HIDDEN = 60.0  # seconds for which a machine that was made may not be seen
_MOST_TRIES = 100


@dataclass(frozen=True, slots=True)
class There:
    """A machine as the backend itself has it, whoever made it."""

    id: str
    name: str  # of its node, as far as the backend knows it
    tags: Mapping[str, str]
    power: str = "on"


class Harness(Protocol):
    """A cluster's provider and its backend."""

    owner: Owner

    def provider(self) -> Provider:
        """A new one for the same cluster and backend, as the next process would have."""

    def spec(self, name: str, role: Role = "worker") -> MachineSpec: ...

    async def there(self) -> list[There]:
        """All machines that the backend has, foreign ones too. Not a call of the provider."""


class CreatingHarness(Harness, Protocol):
    def calls(self) -> int:
        """How many calls the backend has had from providers of this harness."""

    async def lose_answers(self, times: int) -> None:
        """The next so many calls that make or take away a machine are executed, and their answers lost."""

    async def fail_some(self, percent: float) -> None:
        """From now on so many of all calls fail, by chance that is the same every time; 0 ends it."""

    async def hide_new(self, seconds: float) -> None:
        """Machines made from now on are not listed for so long."""

    async def pass_time(self, seconds: float) -> None:
        """Let the backend's clock go forward."""

    async def intrude(self, name: str, tags: Mapping[str, str]) -> str:
        """Somebody else makes a machine of the name that ours would get; its id."""


async def persist(ask: Callable[[], Awaitable[T]], wait: Callable[[], Awaitable[None]] | None = None) -> T:
    """As the engine does: again after `Temporary`, but without the pauses."""
    for _ in range(_MOST_TRIES):
        try:
            return await ask()
        except Temporary:
            await (wait() if wait else asyncio.sleep(0))
    raise AssertionError(f"still failing after {_MOST_TRIES} tries")


async def refusal(ask: Awaitable[object]) -> Permanent:
    """The error that says it cannot be done; anything else fails the test."""
    try:
        await ask
    except Permanent as refused:
        assert refused.hint, f"no way to go on: {refused}"
        return refused
    raise AssertionError("it was done")


class ProviderContract:
    """For every provider. Needs a fixture `harness` with the machine of `cp-1` there, found by the provider."""

    async def test_it_says_what_it_is(self, harness: Harness) -> None:
        provider = harness.provider()
        assert isinstance(provider, Provider)
        assert provider.name and isinstance(provider.seeds, bool) and isinstance(provider.creates, bool)
        await provider.close()

    async def test_tags_carry_the_clusters_name_and_id(self, harness: Harness) -> None:
        (machine,) = [one for one in await harness.provider().find() if one.name == "cp-1"]
        assert machine.tags[CLUSTER_TAG] == harness.owner.cluster
        assert machine.tags[ID_TAG] == harness.owner.id
        assert machine.tags[NODE_TAG] == machine.name and machine.tags[ROLE_TAG] == machine.role == "controlplane"
        assert machine.id

    async def test_finding_changes_nothing_and_is_the_same_for_everybody(self, harness: Harness) -> None:
        before = await harness.there()
        one, other = await harness.provider().find(), await harness.provider().find()
        assert [(machine.id, machine.name, machine.tags) for machine in one] == [
            (machine.id, machine.name, machine.tags) for machine in other
        ]
        assert await harness.there() == before

    async def test_a_look_before_the_start_changes_nothing(self, harness: Harness) -> None:
        before = await harness.there()
        for finding in await harness.provider().preflight([harness.spec("cp-1", "controlplane")]):
            assert finding.check
            assert finding.level == "ok" or (finding.cause and finding.fix), finding
        assert await harness.there() == before

    async def test_what_is_there_is_returned_as_it_is(self, harness: Harness) -> None:
        provider = harness.provider()
        (known,) = [one for one in await provider.find() if one.name == "cp-1"]
        made = await provider.create(harness.spec("cp-1", "controlplane"))
        assert (made.id, made.name, made.role, made.tags) == (known.id, known.name, known.role, known.tags)

    async def test_a_gone_machine_is_destroyed_silently(self, harness: Harness) -> None:
        before = await harness.there()
        gone = Machine(id="no-such-id", name="gone", role="worker", tags=harness.owner.tags("gone", "worker"))
        await harness.provider().destroy(gone)
        assert await harness.there() == before

    async def test_closing_twice_is_closing_once(self, harness: Harness) -> None:
        provider = harness.provider()
        await provider.find()
        await provider.close()
        await provider.close()


class CreatingProviderContract(ProviderContract):
    """For providers that make machines. Needs a fixture `harness` with `cp-1` made and nothing else there."""

    many = 30  # machines, where so many show what few do not; fewer where the backend is slow to list them

    async def test_created_twice_is_created_once(self, harness: CreatingHarness) -> None:
        first = await harness.provider().create(harness.spec("w-1"))
        second = await harness.provider().create(harness.spec("w-1"))
        assert first.id == second.id and first.power == second.power == "on"
        assert [one.name for one in await harness.provider().find()].count("w-1") == 1
        await self._is_single(harness, "w-1")

    async def test_created_by_many_at_once_is_created_once(self, harness: CreatingHarness) -> None:
        ids: list[str] = []

        async def create(provider: Provider) -> None:
            ids.append((await persist(lambda: provider.create(harness.spec("w-1")))).id)

        shared = harness.provider()
        async with asyncio.TaskGroup() as group:
            for number in range(6):
                group.create_task(create(shared if number % 2 else harness.provider()))
        assert len(ids) == 6 and len(set(ids)) == 1
        await self._is_single(harness, "w-1")

    async def test_a_machine_is_what_was_asked_for(self, harness: CreatingHarness) -> None:
        spec = harness.spec("w-1")
        made = await harness.provider().create(spec)
        (found,) = [one for one in await harness.provider().find() if one.name == "w-1"]
        assert (found.id, found.role, found.tags) == (made.id, "worker", harness.owner.tags("w-1", "worker"))
        assert spec.cpu is None or found.cpu == spec.cpu
        assert spec.ram_mib is None or found.ram_mib == spec.ram_mib
        assert not spec.disks_mib or found.disks_mib == spec.disks_mib

    async def test_destroyed_twice_is_destroyed_once(self, harness: CreatingHarness) -> None:
        provider = harness.provider()
        machine = await provider.create(harness.spec("w-1"))
        await provider.destroy(machine)
        assert [one.name for one in await harness.there()] == ["cp-1"]
        await provider.destroy(machine)
        await harness.provider().destroy(machine)
        assert [one.name for one in await harness.there()] == ["cp-1"]

    async def test_all_are_destroyed_at_once_and_others_can_be_made(self, harness: CreatingHarness) -> None:
        provider = harness.provider()
        for number in (1, 2, 3):
            await provider.create(harness.spec(f"w-{number}"))
        async with asyncio.TaskGroup() as group:
            for machine in await provider.find():
                group.create_task(provider.destroy(machine))
        assert await harness.there() == [] and await provider.find() == []
        assert (await provider.create(harness.spec("w-1"))).name == "w-1"
        await self._is_single(harness, "w-1")

    async def test_who_came_later_is_not_destroyed_for_who_was_there(self, harness: CreatingHarness) -> None:
        provider = harness.provider()
        old = await provider.create(harness.spec("w-1"))
        await provider.destroy(old)
        new = await provider.create(harness.spec("w-1"))
        assert new.id != old.id
        await provider.destroy(old)
        assert [one.id for one in await harness.there() if one.name == "w-1"] == [new.id]

    async def test_foreign_machines_are_not_seen_and_not_touched(self, harness: CreatingHarness) -> None:
        twin = Owner(harness.owner.cluster, "another-id-1234")  # a cluster of the same name
        identity = await harness.intrude("w-1", twin.tags("w-1", "worker"))
        provider = harness.provider()
        assert [machine.name for machine in await provider.find()] == ["cp-1"]
        (foreign,) = [one for one in await harness.there() if one.id == identity]
        pretended = Machine(id=identity, name="w-1", role="worker", tags=foreign.tags)
        await provider.destroy(pretended)
        assert await refusal(provider.power(pretended, on=False))
        for machine in await provider.find():
            await provider.destroy(machine)
        assert await harness.there() == [foreign]

    async def test_a_foreign_machine_of_our_name_is_a_clear_error(self, harness: CreatingHarness) -> None:
        identity = await harness.intrude("w-1", {})
        before = await harness.there()
        refused = await refusal(harness.provider().create(harness.spec("w-1")))
        assert "w-1" in str(refused)
        assert await harness.there() == before and identity in [one.id for one in before]

    async def test_machines_are_found_by_their_tags_alone(self, harness: CreatingHarness) -> None:
        await harness.intrude("w-2", {CLUSTER_TAG: harness.owner.cluster, NODE_TAG: "w-2", ROLE_TAG: "worker"})
        await harness.intrude("w-3", {ID_TAG: harness.owner.id, NODE_TAG: "w-3", ROLE_TAG: "worker"})
        assert [machine.name for machine in await harness.provider().find()] == ["cp-1"]

    async def test_machines_of_a_renamed_cluster_are_found_by_the_id_and_not_touched(
        self, harness: CreatingHarness
    ) -> None:
        former, twin = Owner("former", harness.owner.id), Owner(harness.owner.cluster, "another-id-1234")
        await harness.intrude("w-1", former.tags("w-1", "worker"))
        await harness.intrude("w-2", twin.tags("w-2", "worker"))
        provider = harness.provider()
        before = await harness.there()
        assert isinstance(provider, FindsRenamed)
        assert dict(await provider.find_renamed()) == {"former": ("w-1",)}
        assert [machine.name for machine in await provider.find()] == ["cp-1"]
        assert await harness.there() == before

    async def test_power_is_switched_once(self, harness: CreatingHarness) -> None:
        provider = harness.provider()
        machine = await provider.create(harness.spec("w-1"))
        for on in (False, False, True, True):
            await provider.power(machine, on)
            (found,) = [one for one in await provider.find() if one.name == "w-1"]
            assert found.power == ("on" if on else "off")

    async def test_an_answer_that_is_lost_makes_no_twin(self, harness: CreatingHarness) -> None:
        provider = harness.provider()
        await harness.lose_answers(1)
        try:
            await provider.create(harness.spec("w-1"))
        except Temporary:
            pass
        else:
            raise AssertionError("no answer came, and nobody noticed")
        await self._is_single(harness, "w-1")
        made = await persist(lambda: harness.provider().create(harness.spec("w-1")))
        (there,) = [one for one in await harness.there() if one.name == "w-1"]
        assert made.id == there.id
        await harness.lose_answers(1)
        await persist(lambda: provider.destroy(made))
        assert [one.name for one in await harness.there()] == ["cp-1"]

    async def test_one_failure_in_ten_costs_half_as_many_calls_again_at_most(self, harness: CreatingHarness) -> None:
        async def all_of_it() -> int:
            before = harness.calls()
            for number in range(1, self.many + 1):
                await persist(lambda number=number: harness.provider().create(harness.spec(f"w-{number}")))  # type: ignore[misc]
            for machine in await persist(lambda: harness.provider().find()):
                if machine.name != "cp-1":
                    await persist(lambda machine=machine: harness.provider().destroy(machine))  # type: ignore[misc]
            return harness.calls() - before

        quiet = await all_of_it()
        await harness.fail_some(10)
        struck = await all_of_it()
        assert quiet < struck <= 1.5 * quiet, (quiet, struck)
        assert [one.name for one in await harness.there()] == ["cp-1"]

    async def test_what_is_not_seen_for_a_minute_is_not_made_again(self, harness: CreatingHarness) -> None:
        await harness.hide_new(HIDDEN)
        made = await persist(lambda: harness.provider().create(harness.spec("w-1")))
        assert "w-1" not in [machine.name for machine in await harness.provider().find()], "the harness hides nothing"
        again = await persist(
            lambda: harness.provider().create(harness.spec("w-1")), lambda: harness.pass_time(HIDDEN / 4)
        )
        assert again.id == made.id
        await self._is_single(harness, "w-1")
        await harness.pass_time(HIDDEN)
        assert [machine.name for machine in await harness.provider().find()].count("w-1") == 1

    async def test_what_is_not_seen_is_not_lost_with_what_is(self, harness: CreatingHarness) -> None:
        """The last machine that is listed need not be the last there is."""
        await harness.hide_new(HIDDEN)
        await persist(lambda: harness.provider().create(harness.spec("w-1")))
        provider = harness.provider()
        for machine in await provider.find():
            await provider.destroy(machine)
        assert [one.name for one in await harness.there()] == ["w-1"]

    @staticmethod
    async def _is_single(harness: Harness, name: str) -> None:
        names = [one.name for one in await harness.there()]
        assert names.count(name) == 1, names
