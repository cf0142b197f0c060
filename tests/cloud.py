"""A cloud in memory, as providers to come have one: network, subnet, image, balancer, and the machines behind it.

Machines stand on the subnet and the image; the group has the control planes' machines as members. What is wanted and
how it is compared is also what plan cases and properties are told in.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from talosmith.errors import Permanent, Temporary
from talosmith.model.machines import Machine, MachineSpec, Owner
from talosmith.model.resources import Difference, Resource, ResourceKey, ResourceSpec, changed_settings
from talosmith.providers.base import Known
from tests.machine_specs import machine_spec
from tests.resource_contract import ResourceThere

NETWORK, SUBNET, IMAGE = ResourceKey("network", "main"), ResourceKey("subnet", "a"), ResourceKey("image", "talos")
BALANCER, GROUP = ResourceKey("balancer", "api"), ResourceKey("group", "api")
MACHINE_NEEDS = (SUBNET, IMAGE)
_FIXED = {"cidr", "source"}  # settings that nothing can change in place


def cloud_resources(members: Sequence[str]) -> tuple[ResourceSpec, ...]:
    return (  # not in the order of needs
        ResourceSpec(
            kind=GROUP.kind,
            name=GROUP.name,
            settings={"port": 6443, "members": sorted(members)},
            needs=(BALANCER,),
            members=tuple(members),
        ),
        ResourceSpec(kind=BALANCER.kind, name=BALANCER.name, settings={"public": True}, needs=(SUBNET,)),
        ResourceSpec(kind=SUBNET.kind, name=SUBNET.name, settings={"cidr": "10.0.1.0/24"}, needs=(NETWORK,)),
        ResourceSpec(kind=NETWORK.kind, name=NETWORK.name, settings={"cidr": "10.0.0.0/16", "dns": True}),
        ResourceSpec(kind=IMAGE.kind, name=IMAGE.name, settings={"source": "v1.13.9"}, shared=True, on_demand=True),
    )


def cloud_difference(found: Resource, wanted: ResourceSpec) -> Difference:
    changed = changed_settings(found, wanted)
    if {one.name for one in changed} & _FIXED:
        return Difference(change="replace", settings=changed, remedy=f"delete the {wanted.key} by hand")
    return Difference(change="update" if changed else "none", settings=changed)


@dataclass
class Backend:
    things: dict[str, Resource] = field(default_factory=dict)
    machines: dict[str, Machine] = field(default_factory=dict)
    lost: int = 0
    number: int = 0

    def answer(self) -> None:
        if self.lost > 0:
            self.lost -= 1
            raise Temporary("no answer came")

    def new_id(self) -> str:
        self.number += 1
        return f"id-{self.number}"


@dataclass
class Cloud:
    """All of `HasResources`, and as much of a provider as that needs."""

    owner: Owner
    backend: Backend
    members: tuple[str, ...] = ("cp-1",)
    name: str = "cloud"

    def resources(self) -> tuple[ResourceSpec, ...]:
        return cloud_resources(self.members)

    def machine_needs(self, spec: MachineSpec) -> tuple[ResourceKey, ...]:
        return MACHINE_NEEDS

    def difference(self, found: Resource, wanted: ResourceSpec) -> Difference:
        return cloud_difference(found, wanted)

    async def find_resources(self) -> list[Resource]:
        return [one for one in self.backend.things.values() if self.owner.owns(one.tags)]

    def _named(self, key: ResourceKey) -> Resource | None:
        return next((one for one in self.backend.things.values() if one.key == key), None)

    async def create_resource(self, spec: ResourceSpec, known: Known) -> Resource:
        there = self._named(spec.key)
        if there is None:
            for need in spec.needs:
                assert known.resources[need].id in self.backend.things, f"{spec.key} without its {need}"
            for member in spec.members:
                assert known.machines[member].id in self.backend.machines, f"{spec.key} without its {member}"
            there = Resource(
                id=self.backend.new_id(),
                kind=spec.kind,
                name=spec.name,
                settings=dict(spec.settings),
                tags=self.owner.resource_tags,
                needs=spec.needs,
                members=spec.members,
                shared=spec.shared,
            )
            self.backend.things[there.id] = there
            self.backend.answer()
        if not self.owner.owns(there.tags):
            raise Permanent(f"the {spec.key} is another cluster's", hint="give it another name")
        return there

    async def update_resource(self, found: Resource, spec: ResourceSpec, known: Known) -> Resource:
        difference = self.difference(found, spec)
        if difference.change == "replace":
            raise Permanent(f"the {spec.key} cannot be changed in place", hint=difference.remedy)
        updated = replace(self.backend.things[found.id], settings=dict(spec.settings), members=spec.members)
        self.backend.things[found.id] = updated
        return updated

    async def delete_resource(self, found: Resource) -> None:
        there = self.backend.things.get(found.id)
        if there is None or not self.owner.owns(there.tags):
            return
        others = [str(one.key) for one in self.backend.things.values() if found.key in one.needs]
        machines = list(self.backend.machines) if found.key in MACHINE_NEEDS else []
        if there.shared and (there.used_by or machines):
            return
        if others or machines:
            raise Temporary(f"the {found.key} is in use by {', '.join([*others, *machines])}", retry_after=0.0)
        del self.backend.things[found.id]
        self.backend.answer()

    async def find(self) -> list[Machine]:
        return list(self.backend.machines.values())

    async def create(self, spec: MachineSpec) -> Machine:
        self.backend.machines[spec.name] = Machine(id=spec.name, name=spec.name, role=spec.role)
        return self.backend.machines[spec.name]

    async def destroy(self, machine: Machine) -> None:
        self.backend.machines.pop(machine.name, None)


@dataclass
class CloudHarness:
    owner: Owner = field(default_factory=lambda: Owner("tested", "0123456789abcdef"))
    backend: Backend = field(default_factory=Backend)

    def provider(self) -> Cloud:
        return Cloud(self.owner, self.backend)

    def spec(self, name: str) -> MachineSpec:
        return machine_spec(name, "worker", "10.0.1.7")

    async def resources_there(self) -> list[ResourceThere]:
        things = list(self.backend.things.values())
        random.shuffle(things)
        return sorted((ResourceThere(one.key, repr(one)) for one in things), key=lambda one: one.key)

    async def lose_answers(self, times: int) -> None:
        self.backend.lost = times

    def _set(self, key: ResourceKey, **changes: object) -> ResourceKey:
        (there,) = [one for one in self.backend.things.values() if one.key == key]
        self.backend.things[there.id] = replace(there, **changes)  # type: ignore[arg-type]
        return key

    async def drift(self, *, beyond_repair: bool) -> ResourceKey:
        if beyond_repair:
            return self._set(SUBNET, settings={"cidr": "10.9.9.0/24"})
        return self._set(NETWORK, settings={"cidr": "10.0.0.0/16", "dns": False})

    async def intrude_resource(self) -> ResourceKey:
        foreign = Resource(id="foreign", kind=NETWORK.kind, name=NETWORK.name, tags=Owner("other", "1").resource_tags)
        self.backend.things["foreign"] = foreign
        return NETWORK

    async def share(self) -> ResourceKey:
        return self._set(IMAGE, used_by=("another cluster",))
