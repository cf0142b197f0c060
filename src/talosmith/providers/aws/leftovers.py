"""What else is in a cluster's VPC when the cluster goes.

Kubernetes makes load balancers for Services and volumes for claims, and marks them with a tag that has the cluster's
id: they go with the cluster. All else in the VPC is foreign; a VPC with anything in it cannot be deleted, so it is
named before the first deletion.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from talosmith.model.resources import Resource, ResourceKey, ResourceSpec
from talosmith.providers.aws.client import AwsClient
from talosmith.providers.aws.failures import Gone
from talosmith.providers.aws.instances import LIVE, Instances
from talosmith.providers.aws.kinds import ignore_gone
from talosmith.providers.aws.marks import as_tags
from talosmith.providers.aws.settings import AwsSettings
from talosmith.providers.aws.wanted import VPC
from talosmith.providers.base import Known, Leftovers

_DESCRIBED = 20  # load balancers whose tags are asked for in one call
Found = Mapping[str, Any]


class Kubernetes:
    """What Kubernetes has made: deleted, never created."""

    kinds = frozenset(
        {"kubernetes-balancer", "kubernetes-target-group", "kubernetes-security-group", "kubernetes-volume"}
    )
    in_place = frozenset[str]()

    def __init__(self, client: AwsClient, settings: AwsSettings, instances: Instances) -> None:
        self.client = client
        self.settings = settings
        self.marks = settings.marks
        self.instances = instances

    async def find(self) -> list[Resource]:
        """Looked for when the cluster goes, by `leftovers`."""
        return []

    async def create(self, spec: ResourceSpec, known: Known) -> Resource:
        raise NotImplementedError

    async def update(self, found: Resource, spec: ResourceSpec, known: Known) -> Resource:
        raise NotImplementedError

    async def delete(self, found: Resource) -> None:
        service, action, name = {
            "kubernetes-balancer": ("elbv2", "delete_load_balancer", "LoadBalancerArn"),
            "kubernetes-target-group": ("elbv2", "delete_target_group", "TargetGroupArn"),
            "kubernetes-security-group": ("ec2", "delete_security_group", "GroupId"),
            "kubernetes-volume": ("ec2", "delete_volume", "VolumeId"),
        }[found.kind]
        if found.outputs.get("classic"):
            service, name = "elb", "LoadBalancerName"
        if found.kind == "kubernetes-security-group":
            await self._without_rules(found.id)
        which: dict[str, Any] = {name: found.id}
        await ignore_gone(self.client.call(service, action, **which))

    async def _without_rules(self, group: str) -> None:
        """Groups that refer to each other cannot be deleted."""
        try:
            asked = await self.client.call("ec2", "describe_security_groups", GroupIds=[group])
        except Gone:
            return
        if rules := asked["SecurityGroups"][0]["IpPermissions"]:
            await ignore_gone(
                self.client.call("ec2", "revoke_security_group_ingress", GroupId=group, IpPermissions=rules)
            )

    # Looking

    async def leftovers(self, there: Sequence[Resource]) -> Leftovers:
        vpc = next((one for one in there if one.key == VPC), None)
        volumes = await self._volumes()
        if vpc is None:
            return Leftovers(tuple(volumes))
        (balancers, names), (targets, groups, others), foreign, interfaces = await asyncio.gather(
            self._balancers(vpc.id), self._parts(vpc.id), self._foreign(vpc.id), self._interfaces(vpc.id)
        )
        below = tuple(one.key for one in (*groups, vpc))
        own = [
            *(self._needing(one, below) for one in balancers),
            *(self._needing(one, (VPC,)) for one in (*targets, *groups)),
            *volumes,
        ]
        if not self.settings.owner.owns(vpc.tags):  # another's VPC, which stays
            return Leftovers(tuple(own))
        explained = {self.marks.unique, *(one.name for one in balancers)}
        strange = [text for description, text in interfaces if not _is_of(description, explained)]
        return Leftovers(tuple(own), (*names, *others, *foreign, *strange))

    def _needing(self, one: Resource, needs: tuple[ResourceKey, ...]) -> Resource:
        return Resource(id=one.id, kind=one.kind, name=one.name, tags=one.tags, outputs=one.outputs, needs=needs)

    def _own(self, kind: str, name: str, identity: str, **outputs: str) -> Resource:
        return Resource(id=identity, kind=kind, name=name, tags=self.settings.owner.resource_tags, outputs=outputs)

    def _is_own(self, tags: Mapping[str, str]) -> bool:
        return self.marks.kubernetes_tag in tags

    async def _volumes(self) -> list[Resource]:
        filters = [{"Name": "tag-key", "Values": [self.marks.kubernetes_tag]}]
        there = await self.client.listed("ec2", "describe_volumes", "Volumes", Filters=filters)
        machines = {link["VolumeId"] for one in there for link in one.get("Attachments", ()) if self._of_machine(one)}
        return [
            self._own("kubernetes-volume", one["VolumeId"], one["VolumeId"])
            for one in there if one["VolumeId"] not in machines and not self._of_machine(one)
        ]  # fmt: skip

    def _of_machine(self, volume: Found) -> bool:
        """A disk of an instance, which goes with it."""
        return self.settings.owner.owns(as_tags(volume.get("Tags", ())))

    async def _balancers(self, vpc: str) -> tuple[list[Resource], list[str]]:
        """Of Kubernetes, and the names of others."""
        new, classic = await asyncio.gather(
            self.client.listed("elbv2", "describe_load_balancers", "LoadBalancers"),
            self.client.listed("elb", "describe_load_balancers", "LoadBalancerDescriptions"),
        )
        here = [one for one in new if one["VpcId"] == vpc and one["LoadBalancerName"] != self.marks.unique]
        old = [one for one in classic if one.get("VPCId") == vpc]
        tags = {
            **await self._tags("elbv2", "ResourceArns", [one["LoadBalancerArn"] for one in here], "ResourceArn"),
            **await self._tags(
                "elb", "LoadBalancerNames", [one["LoadBalancerName"] for one in old], "LoadBalancerName"
            ),
        }
        own, others = [], []
        for one in here:
            name, arn = one["LoadBalancerName"], one["LoadBalancerArn"]
            if self._is_own(tags.get(arn, {})):
                own.append(self._own("kubernetes-balancer", name, arn))
            else:
                others.append(f"load balancer {name}")
        for one in old:
            name = one["LoadBalancerName"]
            if self._is_own(tags.get(name, {})):
                own.append(self._own("kubernetes-balancer", name, name, classic="yes"))
            else:
                others.append(f"classic load balancer {name}")
        return own, others

    async def _tags(self, service: str, parameter: str, names: list[str], key: str) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        for at in range(0, len(names), _DESCRIBED):
            which: dict[str, Any] = {parameter: names[at : at + _DESCRIBED]}
            asked = await self.client.call(service, "describe_tags", **which)
            found |= {one[key]: as_tags(one["Tags"]) for one in asked["TagDescriptions"]}
        return found

    async def _parts(self, vpc: str) -> tuple[list[Resource], list[Resource], list[str]]:
        """Target groups and security groups of Kubernetes, and security groups of others."""
        filters = [{"Name": "vpc-id", "Values": [vpc]}]
        targets, groups = await asyncio.gather(
            self.client.listed("elbv2", "describe_target_groups", "TargetGroups"),
            self.client.listed("ec2", "describe_security_groups", "SecurityGroups", Filters=filters),
        )
        here = [one for one in targets if one.get("VpcId") == vpc]
        tags = await self._tags("elbv2", "ResourceArns", [one["TargetGroupArn"] for one in here], "ResourceArn")
        own = [
            self._own("kubernetes-target-group", one["TargetGroupName"], one["TargetGroupArn"])
            for one in here if self._is_own(tags.get(one["TargetGroupArn"], {}))
        ]  # fmt: skip
        guarded, others = [], []
        for one in groups:
            marks = as_tags(one.get("Tags", ()))
            if one["GroupName"] == "default" or self.settings.owner.owns(marks):
                continue
            if self._is_own(marks):
                guarded.append(self._own("kubernetes-security-group", one["GroupName"], one["GroupId"]))
            else:
                others.append(f"security group {one['GroupName']} ({one['GroupId']})")
        return own, guarded, others

    async def _foreign(self, vpc: str) -> list[str]:
        filters = [{"Name": "vpc-id", "Values": [vpc]}]
        reservations, subnets, endpoints = await asyncio.gather(
            self.client.listed("ec2", "describe_instances", "Reservations", Filters=filters),
            self.client.listed("ec2", "describe_subnets", "Subnets", Filters=filters),
            self.client.listed("ec2", "describe_vpc_endpoints", "VpcEndpoints", Filters=filters),
        )
        instances = [one for group in reservations for one in group["Instances"] if one["State"]["Name"] in LIVE]
        return [
            *(_named("instance", one["InstanceId"], one) for one in instances if not self.instances.is_ours(one)),
            *(_named("subnet", one["SubnetId"], one) for one in subnets if not self._owned(one)),
            *(_named("VPC endpoint", one["VpcEndpointId"], one) for one in endpoints if not self._owned(one)),
        ]

    def _owned(self, thing: Found) -> bool:
        return self.settings.owner.owns(as_tags(thing.get("Tags", ())))

    async def _interfaces(self, vpc: str) -> list[tuple[str, str]]:
        """Description and text of those that no instance has: databases, functions, and load balancers."""
        filters = [{"Name": "vpc-id", "Values": [vpc]}]
        there = await self.client.listed("ec2", "describe_network_interfaces", "NetworkInterfaces", Filters=filters)
        return [*self._strange(there)]

    def _strange(self, there: Sequence[Found]) -> Iterator[tuple[str, str]]:
        for one in there:
            tags = as_tags(one.get("TagSet", ()))
            if one.get("Attachment", {}).get("InstanceId") or self.settings.owner.owns(tags) or self._is_own(tags):
                continue
            if one.get("InterfaceType") == "nat_gateway" or "NAT Gateway" in one.get("Description", ""):
                continue
            text = one.get("Description", "")
            identity = one["NetworkInterfaceId"]
            yield text, f"network interface {identity}{f' ({text})' if text else ''}"


def _is_of(description: str, balancers: set[str]) -> bool:
    """`ELB net/<name>/<id>`, `ELB app/<name>/<id>`, `ELB <name>`: an interface of one of these."""
    words = description.removeprefix("ELB ").split("/")
    return description.startswith("ELB ") and bool(balancers & {*words})


def _named(kind: str, identity: str, thing: Found) -> str:
    name = as_tags(thing.get("Tags", ())).get("Name", "")
    return f"{kind} {identity}{f' ({name})' if name else ''}"
