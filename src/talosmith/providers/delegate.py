"""For providers that keep resources apart from machines: the calls of `HasResources` go to an object of its own."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from talosmith.model.machines import MachineSpec
from talosmith.model.resources import Difference, Resource, ResourceKey, ResourceSpec
from talosmith.providers.base import Known


class ResourceKeeper(Protocol):
    """`HasResources` without machines. Each method has the contract of its counterpart there."""

    def wanted(self) -> tuple[ResourceSpec, ...]: ...

    def machine_needs(self, spec: MachineSpec, /) -> tuple[ResourceKey, ...]: ...

    def difference(self, found: Resource, wanted: ResourceSpec, /) -> Difference: ...

    async def find(self) -> list[Resource]: ...

    async def create(self, spec: ResourceSpec, known: Known, /) -> Resource: ...

    async def update(self, found: Resource, spec: ResourceSpec, known: Known, /) -> Resource: ...

    async def delete(self, found: Resource, /) -> None: ...


Keeper = TypeVar("Keeper", bound=ResourceKeeper)


class DelegatesResources(Generic[Keeper]):
    _resources: Keeper

    def resources(self) -> tuple[ResourceSpec, ...]:
        return self._resources.wanted()

    def machine_needs(self, spec: MachineSpec) -> tuple[ResourceKey, ...]:
        return self._resources.machine_needs(spec)

    def difference(self, found: Resource, wanted: ResourceSpec) -> Difference:
        return self._resources.difference(found, wanted)

    async def find_resources(self) -> list[Resource]:
        return await self._resources.find()

    async def create_resource(self, spec: ResourceSpec, known: Known) -> Resource:
        return await self._resources.create(spec, known)

    async def update_resource(self, found: Resource, spec: ResourceSpec, known: Known) -> Resource:
        return await self._resources.update(found, spec, known)

    async def delete_resource(self, found: Resource) -> None:
        await self._resources.delete(found)
