"""The machines of one cluster on AWS."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from talosmith.model.machines import Machine, MachineSpec
from talosmith.model.resources import Resource, ResourceSpec
from talosmith.model.secret import Secret
from talosmith.providers.aws.billing import billed
from talosmith.providers.aws.changes import Changes
from talosmith.providers.aws.client import AwsClient
from talosmith.providers.aws.images import Images
from talosmith.providers.aws.instances import Instances
from talosmith.providers.aws.machines import Machines
from talosmith.providers.aws.preflight import preflight
from talosmith.providers.aws.resources import AwsResources
from talosmith.providers.aws.settings import AwsSettings
from talosmith.providers.aws.wanted import BALANCER
from talosmith.providers.base import NO_HOST_CALLS, Finding, Leftovers
from talosmith.providers.delegate import DelegatesResources


class AwsProvider(DelegatesResources[AwsResources]):
    name = "aws"
    simulated = False
    creates = True
    host_calls = NO_HOST_CALLS

    def __init__(self, client: AwsClient, settings: AwsSettings) -> None:
        self.seeds = settings.section.seed
        self.client = client
        self.settings = settings
        self.images = Images(client, settings)
        self._instances = Instances(client, settings)
        self._resources = AwsResources(client, settings, self._instances)
        self._machines = Machines(client, settings, self._instances, self.images, self._resources.ids)

    async def preflight(self, specs: Sequence[MachineSpec]) -> list[Finding]:
        return await preflight(self.client, self.settings, self.images, specs)

    async def find(self) -> list[Machine]:
        return await self._instances.list()

    async def find_renamed(self) -> Mapping[str, tuple[str, ...]]:
        return await self._instances.renamed()

    async def create(self, spec: MachineSpec, seed: Secret | None = None) -> Machine:
        return await self._machines.create(spec, seed)

    async def destroy(self, machine: Machine) -> None:
        await self._resources.let_go(machine)
        await self._machines.destroy(machine)

    async def power(self, machine: Machine, on: bool) -> None:
        await self._machines.power(machine, on)
        if on:
            await self._resources.came_back(machine)

    async def resize(self, machine: Machine, spec: MachineSpec) -> Machine:
        resized = await Changes(self._machines).resize(machine, spec)
        await self._resources.came_back(resized)
        return resized

    async def close(self) -> None:
        await self.client.close()

    def billed(self, machines: Sequence[MachineSpec], resources: Sequence[ResourceSpec]) -> tuple[str, ...]:
        return billed(self.settings, machines, resources)

    # What machines stand on

    def endpoint(self, there: Iterable[Resource]) -> str:
        return next((one.outputs["dns_name"] for one in there if one.key == BALANCER), "")

    async def leftovers(self, there: Sequence[Resource]) -> Leftovers:
        return await self._resources.leftovers(there)
