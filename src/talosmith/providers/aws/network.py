"""The VPC, its internet gateway, subnets, NAT gateways and route tables."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from talosmith.errors import Permanent
from talosmith.model.resources import Resource, ResourceKey, ResourceSpec
from talosmith.providers.aws.failures import There
from talosmith.providers.aws.kinds import OnEc2, ignore_gone, known_id
from talosmith.providers.aws.marks import as_tags, of_cluster
from talosmith.providers.aws.wanted import GATEWAY, VPC
from talosmith.providers.base import Known


class Vpcs(OnEc2):
    kinds = frozenset({"vpc"})
    in_place = frozenset({"dns_hostnames"})

    async def find(self) -> list[Resource]:
        given = self.settings.section.vpc_id
        which = {"VpcIds": [given]} if given else {"Filters": of_cluster(self.settings.owner)}
        there = await self.client.listed("ec2", "describe_vpcs", "Vpcs", **which)
        return [await self._seen(one) for one in there if given or self.key_of(one)]

    async def _seen(self, vpc: Mapping[str, Any]) -> Resource:
        asked = await self.ec2("describe_vpc_attribute", VpcId=vpc["VpcId"], Attribute="enableDnsHostnames")
        given = self.settings.section.vpc_id is not None
        key = VPC if given else self.key_of(vpc) or VPC
        ranges = [vpc["CidrBlock"], *(one["CidrBlock"] for one in vpc.get("CidrBlockAssociationSet", ()))]
        wanted = str(self.settings.section.vpc_cidr)
        settings = {
            "cidr": wanted if given and wanted in ranges else vpc["CidrBlock"],
            "dns_hostnames": bool(asked["EnableDnsHostnames"]["Value"]),
        }
        tags = {} if given else as_tags(vpc.get("Tags", ()))
        account = "" if given else str(vpc.get("OwnerId", ""))  # a VPC may be shared by another account
        return self.seen(key, vpc["VpcId"], settings, tags, account=account)

    async def create(self, spec: ResourceSpec, known: Known) -> Resource:
        if given := self.settings.section.vpc_id:
            raise Permanent(f"the VPC {given} does not exist in this region", hint="correct `aws.vpc_id`")

        async def look() -> list[str]:
            filters = of_cluster(self.settings.owner)
            there = await self.client.listed("ec2", "describe_vpcs", "Vpcs", Filters=filters)
            return [one["VpcId"] for one in there if self.key_of(one) == spec.key]

        async def create() -> str:
            tags = self.marks.specification("vpc", spec.key, **{self.marks.kubernetes_tag: "owned"})
            made = await self.ec2("create_vpc", CidrBlock=spec.settings["cidr"], TagSpecifications=tags)
            return str(made["Vpc"]["VpcId"])

        async def delete(identity: str) -> None:
            await self.ec2("delete_vpc", VpcId=identity)

        identity = await self.single(look, create, delete)
        await self._set_dns(identity)
        return self.seen(spec.key, identity, spec.settings, self.marks.tags(spec.key))

    async def _set_dns(self, identity: str) -> None:
        for name in ("EnableDnsSupport", "EnableDnsHostnames"):  # in this order; one of them per call
            await self.ec2("modify_vpc_attribute", fresh=True, VpcId=identity, **{name: {"Value": True}})

    async def update(self, found: Resource, spec: ResourceSpec, known: Known) -> Resource:
        await self._set_dns(found.id)
        return self.seen(spec.key, found.id, spec.settings, found.tags, **found.outputs)

    async def delete(self, found: Resource) -> None:
        await ignore_gone(self.ec2("delete_vpc", VpcId=found.id))


class Gateways(OnEc2):
    """A VPC has one internet gateway at most: of two that are created, one cannot be attached, and is deleted."""

    kinds = frozenset({"internet-gateway"})
    in_place = frozenset({"attached"})

    async def find(self) -> list[Resource]:
        given = self.settings.section.vpc_id
        if given:
            filters = [{"Name": "attachment.vpc-id", "Values": [given]}]
            there = await self._listed(filters)
            return [self.seen(GATEWAY, one["InternetGatewayId"], {"attached": True}, {}) for one in there]
        found = [(self.key_of(one), one) for one in await self._listed(of_cluster(self.settings.owner))]
        return [
            self.seen(
                key, one["InternetGatewayId"], {"attached": bool(one["Attachments"])}, as_tags(one["Tags"]),
                vpc="".join(to["VpcId"] for to in one["Attachments"][:1]),
            )
            for key, one in found if key
        ]  # fmt: skip

    async def _listed(self, filters: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return await self.client.listed("ec2", "describe_internet_gateways", "InternetGateways", Filters=filters)

    async def create(self, spec: ResourceSpec, known: Known) -> Resource:
        vpc = known_id(known, VPC)
        if given := self.settings.section.vpc_id:
            hint = "attach one, or set `aws.private` and `aws.balancer.internal`"
            raise Permanent(f"the VPC {given} has no internet gateway", hint=hint)
        ours = [one for one in await self.find() if one.key == spec.key]
        attached = next((one for one in ours if one.settings["attached"]), None)
        if attached is not None:
            return attached
        identity = ours[0].id if ours else ""
        if not identity:
            tags = self.marks.specification("internet-gateway", spec.key)
            made = await self.ec2("create_internet_gateway", TagSpecifications=tags)
            identity = made["InternetGateway"]["InternetGatewayId"]
        return await self._attach(identity, vpc, spec)

    async def _attach(self, identity: str, vpc: str, spec: ResourceSpec) -> Resource:
        try:
            await self.ec2("attach_internet_gateway", fresh=True, InternetGatewayId=identity, VpcId=vpc)
        except Permanent as wrong:
            if not isinstance(wrong, There) and "already has" not in str(wrong):  # `InvalidParameterValue`, too
                raise
            there = await self._listed([{"Name": "attachment.vpc-id", "Values": [vpc]}])
            other = next((one for one in there if self.key_of(one) == spec.key), None)
            if other is None:
                raise
            if other["InternetGatewayId"] != identity:
                await ignore_gone(self.ec2("delete_internet_gateway", InternetGatewayId=identity))
                identity = other["InternetGatewayId"]
        return self.seen(spec.key, identity, spec.settings, self.marks.tags(spec.key), vpc=vpc)

    async def update(self, found: Resource, spec: ResourceSpec, known: Known) -> Resource:
        return await self._attach(found.id, known_id(known, VPC), spec)

    async def delete(self, found: Resource) -> None:
        if vpc := found.outputs.get("vpc"):
            await ignore_gone(self.ec2("detach_internet_gateway", InternetGatewayId=found.id, VpcId=vpc))
        await ignore_gone(self.ec2("delete_internet_gateway", InternetGatewayId=found.id))


class Subnets(OnEc2):
    kinds = frozenset({"subnet"})
    in_place = frozenset({"public_addresses"})

    async def find(self) -> list[Resource]:
        given = {one.id: zone for zone, one in self.settings.section.subnets.items()}
        which: dict[str, Any] = {"Filters": of_cluster(self.settings.owner)}
        if given:
            which = {"SubnetIds": [*given]}
        there = await self.client.listed("ec2", "describe_subnets", "Subnets", **which)
        if given:
            return [
                self.seen(ResourceKey("subnet", given[one["SubnetId"]]), one["SubnetId"],
                          {"cidr": one["CidrBlock"]}, {}, zone=one["AvailabilityZone"])
                for one in there
            ]  # fmt: skip
        return [self._seen(key, one) for one in there if (key := self.key_of(one))]

    def _seen(self, key: ResourceKey, subnet: Mapping[str, Any]) -> Resource:
        settings = {
            "cidr": subnet["CidrBlock"],
            "zone": subnet["AvailabilityZone"],
            "public_addresses": bool(subnet.get("MapPublicIpOnLaunch")),
        }
        return self.seen(key, subnet["SubnetId"], settings, as_tags(subnet["Tags"]), vpc=subnet["VpcId"])

    async def create(self, spec: ResourceSpec, known: Known) -> Resource:
        """Two subnets cannot have one network, so there is never a second."""
        vpc = known_id(known, VPC)
        there = await self._there(spec, vpc)
        if there is None:
            balanced = "internal-elb" if not spec.settings["public_addresses"] else "elb"
            if spec.name.startswith("public-"):
                balanced = "elb"
            more = {self.marks.kubernetes_tag: "owned", f"kubernetes.io/role/{balanced}": "1"}
            tags = self.marks.specification("subnet", spec.key, **more)
            try:
                made = await self.ec2(
                    "create_subnet", fresh=True, VpcId=vpc, CidrBlock=spec.settings["cidr"],
                    AvailabilityZone=spec.settings["zone"], TagSpecifications=tags,
                )  # fmt: skip
            except There:
                there = await self._there(spec, vpc)
                if there is None:
                    raise
            else:
                there = self._seen(spec.key, made["Subnet"])
        if there.settings["public_addresses"] != spec.settings["public_addresses"]:
            return await self.update(there, spec, known)
        return there

    async def _there(self, spec: ResourceSpec, vpc: str) -> Resource | None:
        filters = [*of_cluster(self.settings.owner), {"Name": "vpc-id", "Values": [vpc]}]
        there = await self.client.listed("ec2", "describe_subnets", "Subnets", Filters=filters)
        return next((self._seen(spec.key, one) for one in there if self.key_of(one) == spec.key), None)

    async def update(self, found: Resource, spec: ResourceSpec, known: Known) -> Resource:
        public = {"Value": spec.settings["public_addresses"]}
        await self.ec2("modify_subnet_attribute", fresh=True, SubnetId=found.id, MapPublicIpOnLaunch=public)
        return self.seen(spec.key, found.id, spec.settings, found.tags)

    async def delete(self, found: Resource) -> None:
        await ignore_gone(self.ec2("delete_subnet", SubnetId=found.id))


async def until(done: Any, between: float) -> None:
    """Until `done()` says so; the step's limit ends it."""
    while not await done():
        await asyncio.sleep(between)
