"""NAT gateways with their addresses, and route tables.

The VPC's own main table has the route to the internet: a VPC has it from the start, so none has to be created. In an
existing VPC, and for private subnets, tables of the cluster's own are created.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from talosmith.errors import Permanent
from talosmith.model.resources import Resource, ResourceKey, ResourceSpec, Settings
from talosmith.providers.aws.failures import There
from talosmith.providers.aws.kinds import OnEc2, ignore_gone, known_id, listing, texts
from talosmith.providers.aws.marks import as_list, as_tags, of_cluster
from talosmith.providers.aws.network import until
from talosmith.providers.aws.rules import EVERYWHERE
from talosmith.providers.aws.wanted import GATEWAY, PUBLIC_ROUTES, TO_GATEWAY, VPC, subnet
from talosmith.providers.base import Known

_LIVE = ("pending", "available")


class Nats(OnEc2):
    kinds = frozenset({"nat-gateway"})
    in_place = frozenset[str]()

    async def find(self) -> list[Resource]:
        """Two calls, which are saved where nodes are in public subnets."""
        return await self.look() if self.settings.section.private else []

    async def look(self) -> list[Resource]:
        addresses = await self._addresses()
        found = {}
        for one in await self._listed():
            if (key := self.key_of(one)) and one["State"] in (*_LIVE, "deleting"):
                found[key] = self._seen(key, one)
        for key, address in addresses.items():
            if key not in found:  # the gateway is gone, or was never there: its address is what is left
                found[key] = self.seen(key, "", {"zone": ""}, self.marks.tags(key), address=address["AllocationId"])
        return [*found.values()]

    async def _listed(self) -> list[dict[str, Any]]:
        filters = of_cluster(self.settings.owner)
        return await self.client.listed("ec2", "describe_nat_gateways", "NatGateways", Filter=filters)

    async def _addresses(self) -> dict[ResourceKey, dict[str, Any]]:
        asked = await self.ec2("describe_addresses", Filters=of_cluster(self.settings.owner))
        there = sorted(asked["Addresses"], key=lambda one: str(one["AllocationId"]), reverse=True)
        return {key: one for one in there if (key := self.key_of(one))}

    def _seen(self, key: ResourceKey, nat: Mapping[str, Any]) -> Resource:
        address: Mapping[str, Any] = next(iter(nat.get("NatGatewayAddresses", ())), {})
        return self.seen(
            key, nat["NatGatewayId"], {"zone": key.name}, as_tags(nat.get("Tags", ())),
            address=str(address.get("AllocationId", "")), public=str(address.get("PublicIp", "")), state=nat["State"],
        )  # fmt: skip

    async def create(self, spec: ResourceSpec, known: Known) -> Resource:
        there = await self._live(spec.key)
        if there is None:
            address = await self._address(spec.key)
            token = hashlib.sha256(f"{self.settings.owner.id} {spec.name} {address}".encode()).hexdigest()[:32]
            made = await self.ec2(
                "create_nat_gateway", fresh=True, SubnetId=known_id(known, subnet(spec.name, public=True)),
                AllocationId=address, ClientToken=token,
                TagSpecifications=self.marks.specification("natgateway", spec.key),
            )  # fmt: skip
            there = self._seen(spec.key, made["NatGateway"])

        async def available() -> bool:
            found = await self._live(spec.key)
            return found is not None and found.outputs["state"] == "available"

        await until(available, self.settings.between)
        found = await self._live(spec.key)
        return found or there

    async def _live(self, key: ResourceKey) -> Resource | None:
        there = [one for one in await self._listed() if self.key_of(one) == key and one["State"] in _LIVE]
        return self._seen(key, there[0]) if there else None

    async def _address(self, key: ResourceKey) -> str:
        async def look() -> list[str]:
            asked = await self.ec2("describe_addresses", Filters=of_cluster(self.settings.owner))
            return [one["AllocationId"] for one in asked["Addresses"] if self.key_of(one) == key]

        async def create() -> str:
            tags = self.marks.specification("elastic-ip", key)
            made = await self.ec2("allocate_address", Domain="vpc", TagSpecifications=tags)
            return str(made["AllocationId"])

        async def release(identity: str) -> None:
            await ignore_gone(self.ec2("release_address", AllocationId=identity))

        return await self.single(look, create, release)

    async def update(self, found: Resource, spec: ResourceSpec, known: Known) -> Resource:
        raise Permanent(f"the {found.key} cannot be changed in place", hint="delete it, and run the same again")

    async def delete(self, found: Resource) -> None:
        """The address is released after the gateway: as long as there is one of both, the next run finds it."""
        if found.id:
            await ignore_gone(self.ec2("delete_nat_gateway", NatGatewayId=found.id))

            async def deleted() -> bool:
                there = [one for one in await self._listed() if one["NatGatewayId"] == found.id]
                return all(one["State"] in ("deleted", "failed") for one in there)

            await until(deleted, self.settings.between)
        if address := found.outputs.get("address"):
            await ignore_gone(self.ec2("release_address", AllocationId=address))


class RouteTables(OnEc2):
    kinds = frozenset({"route-table"})
    in_place = frozenset({EVERYWHERE, "subnets"})

    @property
    def _uses_main(self) -> bool:
        return self.settings.section.vpc_id is None

    async def find(self) -> list[Resource]:
        there = await self._listed(of_cluster(self.settings.owner))
        return [self._seen(key, one) for one in there if (key := self.key_of(one))]

    async def _listed(self, filters: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return await self.client.listed("ec2", "describe_route_tables", "RouteTables", Filters=filters)

    def _seen(self, key: ResourceKey, table: Mapping[str, Any]) -> Resource:
        route: Mapping[str, Any] = next(
            (one for one in table["Routes"] if one.get("DestinationCidrBlock") == EVERYWHERE), {}
        )
        target = route.get("NatGatewayId") or route.get("GatewayId") or route.get("InstanceId") or "none"
        if target.startswith("igw-") and route.get("State") != "blackhole":
            target = TO_GATEWAY
        linked = [one for one in table["Associations"] if one.get("SubnetId")]
        settings: Settings = {EVERYWHERE: target, "subnets": listing(one["SubnetId"] for one in linked)}
        return self.seen(key, table["RouteTableId"], settings, as_tags(table["Tags"]))

    def translate(self, found: Resource, others: Mapping[str, ResourceKey]) -> Resource:
        """Ids of NAT gateways and subnets become their names. `others`: keys by id."""
        target = str(found.settings[EVERYWHERE])
        names = [others[part].name if part in others else part for part in texts(found, "subnets")]
        settings: Settings = {EVERYWHERE: str(others.get(target, target)), "subnets": listing(names)}
        return self.seen(found.key, found.id, settings, found.tags, **found.outputs)

    async def create(self, spec: ResourceSpec, known: Known) -> Resource:
        vpc = known_id(known, VPC)
        if spec.key == PUBLIC_ROUTES and self._uses_main:
            identity = await self._main(vpc, spec)
        else:
            identity = await self._own(vpc, spec)
        return await self._completed(identity, spec, known)

    async def _main(self, vpc: str, spec: ResourceSpec) -> str:
        filters = [{"Name": "vpc-id", "Values": [vpc]}, {"Name": "association.main", "Values": ["true"]}]
        there = await self._listed(filters)
        if not there:
            raise Permanent(f"the {VPC} has no main route table", hint="plan again: AWS has changed meanwhile")
        identity = str(there[0]["RouteTableId"])
        if self.key_of(there[0]) != spec.key:
            await self.ec2("create_tags", fresh=True, Resources=[identity], Tags=as_list(self.marks.tags(spec.key)))
        return identity

    async def _own(self, vpc: str, spec: ResourceSpec) -> str:
        async def look() -> list[str]:
            filters = [*of_cluster(self.settings.owner), {"Name": "vpc-id", "Values": [vpc]}]
            return [one["RouteTableId"] for one in await self._listed(filters) if self.key_of(one) == spec.key]

        async def create() -> str:
            tags = self.marks.specification("route-table", spec.key)
            made = await self.ec2("create_route_table", fresh=True, VpcId=vpc, TagSpecifications=tags)
            return str(made["RouteTable"]["RouteTableId"])

        async def delete(identity: str) -> None:
            await ignore_gone(self.ec2("delete_route_table", RouteTableId=identity))

        return await self.single(look, create, delete)

    async def _completed(self, identity: str, spec: ResourceSpec, known: Known) -> Resource:
        target = str(spec.settings[EVERYWHERE])
        if target == TO_GATEWAY:
            to = {"GatewayId": known_id(known, GATEWAY)}
        else:
            to = {"NatGatewayId": known_id(known, ResourceKey("nat-gateway", target.partition(" ")[2]))}
        route = {"RouteTableId": identity, "DestinationCidrBlock": EVERYWHERE, **to}
        try:
            await self.ec2("create_route", fresh=True, **route)
        except There:
            await self.ec2("replace_route", fresh=True, **route)
        (table,) = await self._listed([{"Name": "route-table-id", "Values": [identity]}])
        linked = {one.get("SubnetId") for one in table["Associations"]}
        for zone in texts(spec, "subnets"):
            part = known_id(known, ResourceKey("subnet", zone))
            if part not in linked:
                await self.ec2("associate_route_table", fresh=True, RouteTableId=identity, SubnetId=part)
        return self.seen(spec.key, identity, spec.settings, as_tags(table["Tags"]))

    async def update(self, found: Resource, spec: ResourceSpec, known: Known) -> Resource:
        return await self._completed(found.id, spec, known)

    async def delete(self, found: Resource) -> None:
        there = await self._listed([{"Name": "route-table-id", "Values": [found.id]}])
        if not there:
            return
        if any(one.get("Main") for one in there[0]["Associations"]):  # goes with its VPC
            await ignore_gone(self.ec2("delete_route", RouteTableId=found.id, DestinationCidrBlock=EVERYWHERE))
            await ignore_gone(self.ec2("delete_tags", Resources=[found.id], Tags=as_list(dict(found.tags))))
            return
        for link in there[0]["Associations"]:
            await ignore_gone(self.ec2("disassociate_route_table", AssociationId=link["RouteTableAssociationId"]))
        await ignore_gone(self.ec2("delete_route_table", RouteTableId=found.id))
