"""All resources of a cluster in AWS together: found at the same time, named for each other, created and deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from talosmith.errors import Permanent
from talosmith.model.machines import NODE_TAG, Machine, MachineSpec
from talosmith.model.resources import Difference, Resource, ResourceKey, ResourceSpec, changed_settings
from talosmith.providers.aws.account import check_account
from talosmith.providers.aws.address import own_address
from talosmith.providers.aws.balancers import Balancers
from talosmith.providers.aws.client import AwsClient
from talosmith.providers.aws.failures import InUse
from talosmith.providers.aws.groups import Groups
from talosmith.providers.aws.identities import Identities
from talosmith.providers.aws.instances import Instances, public_address
from talosmith.providers.aws.kinds import Kind, in_use
from talosmith.providers.aws.leftovers import Kubernetes
from talosmith.providers.aws.marks import as_tags
from talosmith.providers.aws.network import Gateways, Subnets, Vpcs
from talosmith.providers.aws.records import Records
from talosmith.providers.aws.routes import Nats, RouteTables
from talosmith.providers.aws.settings import AwsSettings
from talosmith.providers.aws.tagging import SETTING, set_tags, tagged_resource, tagged_spec
from talosmith.providers.aws.wanted import BALANCED, BALANCER, BELOW, VPC, Wanted
from talosmith.providers.base import Known, Leftovers

_REMEDY = "put the old value back into the inventory; or destroy the cluster, and create it again with the new one"
_UNDER_MACHINES = ("route-table", "role", "load-balancer")  # AWS deletes them while instances need them


class AwsResources:
    """All of `HasResources`."""

    def __init__(self, client: AwsClient, settings: AwsSettings, instances: Instances) -> None:
        self.client = client
        self.settings = settings
        self.instances = instances
        self._wanted = Wanted(settings)
        self._admin: list[str] | None = None
        self._vpcs, self._subnets = Vpcs(client, settings), Subnets(client, settings)
        self._groups, self._nats = Groups(client, settings), Nats(client, settings)
        self._routes, self._records = RouteTables(client, settings), Records(client, settings)
        self._balancers = Balancers(client, settings)
        self._kubernetes = Kubernetes(client, settings, instances)
        self._kinds: tuple[Kind, ...] = (
            self._vpcs, Gateways(client, settings), self._subnets, self._nats, self._routes, self._groups,
            Identities(client, settings), self._balancers, self._records, self._kubernetes,
        )  # fmt: skip
        self._seen: dict[ResourceKey, Resource] = {}  # what this process knows to exist

    # What is wanted

    def wanted(self) -> tuple[ResourceSpec, ...]:
        return tuple(tagged_spec(one, self.settings.section.tags) for one in self._wanted.all(self.admin))

    @property
    def admin(self) -> list[str]:
        section = self.settings.section
        if section.admin_cidrs:
            return sorted(map(str, section.admin_cidrs))
        if self._admin is not None:
            return self._admin
        return [str(section.vpc_cidr)]

    async def learn_admin(self) -> None:
        """The caller's own address, where the inventory names no network; from inside the VPC, the VPC."""
        section = self.settings.section
        from_outside = section.reaches_public or self.settings.balancer_is_public
        if not section.admin_cidrs and self._admin is None:
            inside = [] if section.reaches_public else [str(section.vpc_cidr)]
            self._admin = sorted([*inside, *([await own_address()] if from_outside else [])])

    def machine_needs(self, spec: MachineSpec) -> tuple[ResourceKey, ...]:
        return self._wanted.machine_needs(spec)

    def difference(self, found: Resource, wanted: ResourceSpec) -> Difference:
        changed = changed_settings(found, wanted)
        if {one.name for one in changed} <= {*self._of(wanted.kind).in_place, SETTING}:
            return Difference(change="update" if changed else "none", settings=changed)
        return Difference(change="replace", settings=changed, remedy=_REMEDY)

    def _of(self, kind: str) -> Kind:
        found = next((one for one in self._kinds if kind in one.kinds), None)
        if found is None:
            raise Permanent(f"AWS has no resources of the kind {kind}", hint="plan again")
        return found

    # Looking

    async def find(self) -> list[Resource]:
        found, look, _ = await asyncio.gather(
            asyncio.gather(*(kind.find() for kind in self._kinds)), self.instances.look(), self.learn_admin()
        )
        there = [one for part in found for one in part]
        if not self.settings.section.private and any(one.name.startswith("public-") for one in there):
            there += await self._nats.look()  # of private subnets that the inventory no longer has
        await check_account(self.client, self.settings, there)
        names = {one["InstanceId"]: as_tags(one["Tags"])[NODE_TAG] for one in look.live}
        addresses = {as_tags(one["Tags"])[NODE_TAG]: public_address(one) for one in look.live}
        return await self._related(there, names, addresses)

    async def _related(
        self, there: list[Resource], names: Mapping[str, str], addresses: Mapping[str, str]
    ) -> list[Resource]:
        by_key = _distinct(there)
        keys = {one.id: key for key, one in by_key.items() if one.id}
        for key, one in by_key.items():
            if key.kind == "route-table":
                by_key[key] = self._routes.translate(one, keys)
            elif key.kind == "target-group":
                by_key[key] = self._balancers.translate(one, names)
            elif key.kind == "dns-record":
                by_key[key] = self._records.translate(one, by_key.get(BALANCER))
        for one in await self._groups.find_access(by_key.get(BALANCED), {**addresses, **_gateways(by_key)}):
            by_key[one.key] = one
        tags, wanted = self.settings.section.tags, {one.key: one for one in self.wanted()}
        by_key = {key: tagged_resource(one, tags) for key, one in by_key.items()}
        self._seen = {key: replace(one, needs=_needs(key, wanted, by_key)) for key, one in by_key.items()}
        return [*self._seen.values()]

    async def leftovers(self, there: Sequence[Resource]) -> Leftovers:
        left = await self._kubernetes.leftovers(there)
        if self.settings.record:
            return left
        return replace(left, own=(*left.own, *await self._records.everywhere()))  # of a domain that was removed

    async def ids(self, keys: list[ResourceKey]) -> dict[ResourceKey, str]:
        """Of what a machine stands on."""
        if any(key not in self._seen for key in keys):
            parts = await asyncio.gather(self._subnets.find(), self._groups.find())
            self._seen |= {one.key: one for part in parts for one in part if one.key not in self._seen}
        if missing := [str(key) for key in keys if key not in self._seen]:
            raise Permanent(f"{', '.join(missing)} does not exist", hint="plan again: AWS has changed meanwhile")
        return {key: self._seen[key].id for key in keys}

    # Changing

    async def create(self, spec: ResourceSpec, known: Known) -> Resource:
        if spec.kind == "api-access":
            made = await self._set_access(spec, known)
        else:
            made = await self._of(spec.kind).create(spec, known)
        return self._remember(replace(made, needs=spec.needs, members=spec.members))

    async def update(self, found: Resource, spec: ResourceSpec, known: Known) -> Resource:
        difference = self.difference(found, spec)
        if difference.change == "replace":
            raise Permanent(f"the {spec.key} cannot be changed in place", hint=difference.remedy)
        changed = {one.name for one in difference.settings}
        if SETTING in changed:
            await set_tags(self.client, found, self.settings.section.tags)
        if changed == {SETTING}:
            made = replace(found, settings=spec.settings)
        elif spec.kind == "api-access":
            made = await self._set_access(spec, known)
        else:
            made = await self._of(spec.kind).update(found, spec, known)
        return self._remember(replace(made, needs=spec.needs, members=spec.members))

    async def _set_access(self, spec: ResourceSpec, known: Known) -> Resource:
        self.instances.forget()
        live = (await self.instances.look()).live
        addresses = {as_tags(one["Tags"])[NODE_TAG]: public_address(one) for one in live}
        gateways = {
            str(key): one.outputs["public"] for key, one in known.resources.items() if "public" in one.outputs
        }
        return await self._groups.set_access(spec, known, {**addresses, **gateways})

    def _remember(self, made: Resource) -> Resource:
        self._seen[made.key] = made
        return made

    async def came_back(self, machine: Machine) -> None:
        """After a machine was stopped and started."""
        self.instances.forget()
        live = (await self.instances.look()).live
        found = next((public_address(one) for one in live if one["InstanceId"] == machine.id), "")
        if found:
            await self._groups.renew_access(machine.name, found)

    async def let_go(self, machine: Machine) -> None:
        """Before a machine is terminated: no connection is sent to it any more, and none of its rules is left."""
        if machine.role == "controlplane":
            await self._balancers.detach(machine.id)
        await self._groups.revoke_access(machine.name)

    async def delete(self, found: Resource) -> None:
        if not self.settings.owner.owns(found.tags):
            return
        if others := [str(key) for key, one in self._seen.items() if found.key in one.needs and key != found.key]:
            raise in_use(found.key, others)
        if found.kind in _UNDER_MACHINES and (standing := await self._standing(found.key)):
            raise in_use(found.key, standing)
        try:
            await self._delete(found)
        except InUse as busy:
            raise InUse(f"the {found.key} is in use: {busy}", hint=busy.hint, retry_after=busy.retry_after) from None
        self._seen.pop(found.key, None)

    async def _delete(self, found: Resource) -> None:
        if found.kind == "api-access":
            await self._groups.delete_access(found)
        else:
            await self._of(found.kind).delete(found)

    async def _standing(self, key: ResourceKey) -> list[str]:
        """Machines that need it."""
        self.instances.forget()
        machines: list[Machine] = await self.instances.list()
        specs = self.settings.specs
        return [one.name for one in machines if one.name not in specs or key in self.machine_needs(specs[one.name])]


def _distinct(there: list[Resource]) -> dict[ResourceKey, Resource]:
    """A second one of the same name, which a run that was cut off may have left, is not wanted: it gets a name of its
    own, and is deleted."""
    found: dict[ResourceKey, Resource] = {}
    used = {one.outputs.get("vpc") for one in there}  # of two VPCs, the one that has something in it
    for one in sorted(there, key=lambda one: (one.id not in used, one.id)):
        twin = replace(one, name=f"{one.name}-{one.id}") if one.key in found else one
        found[twin.key] = twin
    return found


def _gateways(there: Mapping[ResourceKey, Resource]) -> dict[str, str]:
    """Public addresses of NAT gateways."""
    return {str(key): one.outputs["public"] for key, one in there.items() if "public" in one.outputs}


def _needs(
    key: ResourceKey, wanted: Mapping[ResourceKey, ResourceSpec], there: Mapping[ResourceKey, Resource]
) -> tuple[ResourceKey, ...]:
    if key in wanted:
        return wanted[key].needs
    if key.kind == VPC.kind:
        return ()
    return tuple(other for other in there if other.kind in BELOW.get(key.kind, ()) and other != key)
