"""The network load balancer of the API, its target groups and listeners.

Client addresses are not preserved: with them, a control plane that asks the load balancer cannot be answered by
itself. So the load balancer has a security group of its own, and the control planes let it in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from talosmith.errors import Permanent, Temporary
from talosmith.model.resources import Resource, ResourceKey, ResourceSpec
from talosmith.providers.aws.client import AwsClient
from talosmith.providers.aws.failures import Gone, There
from talosmith.providers.aws.kinds import ignore_gone, known_id, listing, texts
from talosmith.providers.aws.marks import as_list, as_tags
from talosmith.providers.aws.network import until
from talosmith.providers.aws.settings import AwsSettings
from talosmith.providers.aws.wanted import BALANCED, BALANCER, VPC
from talosmith.providers.base import Known

_SHORT = {"kubernetes": "k8s", "talos": "talos"}  # a target group's name has 32 characters at most
_ATTRIBUTES = {
    "preserve_client_ip.enabled": "false",
    "deregistration_delay.timeout_seconds": "30",
    "load_balancing.cross_zone.enabled": "true",
}


class Balancers:
    kinds = frozenset({"load-balancer", "target-group", "listener"})
    in_place = frozenset({"zones", "client_addresses", "members", "to"})

    def __init__(self, client: AwsClient, settings: AwsSettings) -> None:
        self.client = client
        self.settings = settings
        self.marks = settings.marks

    async def elb(self, action: str, *, fresh: bool = False, **parameters: Any) -> dict[str, Any]:
        return await self.client.call("elbv2", action, fresh=fresh, **parameters)

    async def find(self) -> list[Resource]:
        balancer, groups = await asyncio.gather(self._balancer(), self._groups())
        arns = [one["LoadBalancerArn"] for one in balancer] + [one["TargetGroupArn"] for one in groups.values()]
        if not arns:
            return []
        asked = await self.elb("describe_tags", ResourceArns=arns)
        tags = {one["ResourceArn"]: as_tags(one["Tags"]) for one in asked["TagDescriptions"]}
        found = [
            self._seen_balancer(one, tags.get(one["LoadBalancerArn"], {}))
            for one in balancer
            if self._ours(tags, one["LoadBalancerArn"])
        ]
        ours = {name: one for name, one in groups.items() if self._ours(tags, one["TargetGroupArn"])}
        listeners, seen = await asyncio.gather(
            self._listeners(found, ours),
            asyncio.gather(*(self._group(name, one, tags[one["TargetGroupArn"]]) for name, one in ours.items())),
        )
        return [*found, *seen, *listeners]

    def _ours(self, tags: Mapping[str, Mapping[str, str]], arn: str) -> bool:
        return self.settings.owner.owns(tags.get(arn, {}))

    async def _balancer(self) -> list[dict[str, Any]]:
        try:
            asked = await self.elb("describe_load_balancers", Names=[self.marks.unique])
        except Gone:
            return []
        return list(asked["LoadBalancers"])

    async def _groups(self) -> dict[str, dict[str, Any]]:
        there = await self.client.listed("elbv2", "describe_target_groups", "TargetGroups")
        names = {self._group_name(name): name for name in _SHORT}
        return {names[one["TargetGroupName"]]: one for one in there if one["TargetGroupName"] in names}

    def _group_name(self, name: str) -> str:
        return f"{self.marks.unique}-{_SHORT[name]}"

    def _seen_balancer(self, balancer: Mapping[str, Any], tags: Mapping[str, str]) -> Resource:
        zones = listing(one["ZoneName"] for one in balancer["AvailabilityZones"])
        return Resource(
            id=balancer["LoadBalancerArn"], kind=BALANCER.kind, name=BALANCER.name, tags=dict(tags),
            settings={"scheme": balancer["Scheme"], "zones": zones},
            outputs={
                "dns_name": balancer["DNSName"], "zone_id": balancer["CanonicalHostedZoneId"],
                "state": balancer["State"]["Code"],
            },
        )  # fmt: skip

    async def _group(self, name: str, group: Mapping[str, Any], tags: Mapping[str, str]) -> Resource:
        arn = group["TargetGroupArn"]
        attributes, targets = await asyncio.gather(
            self.elb("describe_target_group_attributes", TargetGroupArn=arn), self._targets(arn)
        )
        there = {one["Key"]: one["Value"] for one in attributes["Attributes"]}
        preserved = there.get("preserve_client_ip.enabled") != "false"
        settings = {
            "port": group["Port"],
            "client_addresses": "preserved" if preserved else "not preserved",
            "members": sorted(targets),
        }
        return replace(self._seen_group(name, arn, settings), tags=dict(tags))

    def _seen_group(self, name: str, arn: str, settings: dict[str, Any]) -> Resource:
        key = ResourceKey("target-group", name)
        tags = self.marks.tags(key)
        return Resource(id=arn, kind=key.kind, name=name, settings=settings, tags=tags)

    async def _targets(self, arn: str) -> list[str]:
        """Ids of instances."""
        asked = await self.elb("describe_target_health", TargetGroupArn=arn)
        return [
            one["Target"]["Id"] for one in asked["TargetHealthDescriptions"]
            if one["TargetHealth"]["State"] != "draining"
        ]  # fmt: skip

    def translate(self, found: Resource, names: Mapping[str, str]) -> Resource:
        """Ids of instances become names of nodes; what is no instance of the cluster stays an id."""
        members = tuple(sorted(names.get(one, one) for one in texts(found, "members")))
        known = tuple(one for one in members if one in names.values())
        return replace(found, settings={**found.settings, "members": [*members]}, members=known)

    async def _listeners(self, balancer: list[Resource], groups: Mapping[str, Mapping[str, Any]]) -> list[Resource]:
        names = {one["TargetGroupArn"]: name for name, one in groups.items()}
        found = []
        for one in balancer:
            arn = one.id
            try:
                listed = await self.client.listed("elbv2", "describe_listeners", "Listeners", LoadBalancerArn=arn)
            except Gone:
                continue
            found += [self._seen_listener(listener, names, one.tags) for listener in listed]
        return found

    def _seen_listener(
        self, listener: Mapping[str, Any], groups: Mapping[str, str], tags: Mapping[str, str]
    ) -> Resource:
        action: Mapping[str, Any] = next(iter(listener["DefaultActions"]), {})
        target = str(action.get("TargetGroupArn", ""))
        ports = {6443: "kubernetes", 50000: "talos"}
        name = ports.get(listener["Port"], f"port-{listener['Port']}")
        to = f"target-group {groups[target]}" if target in groups else target or "none"
        settings = {"port": listener["Port"], "to": to}
        return Resource(id=listener["ListenerArn"], kind="listener", name=name, settings=settings, tags=dict(tags))

    # Changing

    async def create(self, spec: ResourceSpec, known: Known) -> Resource:
        if spec.kind == "load-balancer":
            return await self._create_balancer(spec, known)
        if spec.kind == "target-group":
            return await self._create_group(spec, known)
        return await self._create_listener(spec, known)

    async def _create_balancer(self, spec: ResourceSpec, known: Known) -> Resource:
        there = await self._balancer()
        if not there:
            with suppress(There):  # another run was faster
                await self.elb(
                    "create_load_balancer", fresh=True, Name=self.marks.unique, Type="network",
                    Scheme=spec.settings["scheme"], Subnets=_subnets(spec, known), IpAddressType="ipv4",
                    SecurityGroups=[known_id(known, BALANCED)], Tags=as_list(self.marks.tags(spec.key)),
                )  # fmt: skip
        found = [one for one in await self.find() if one.key == spec.key]
        if not found:
            if not await self._balancer():
                raise Temporary(f"the {spec.key} is not visible yet")
            hint = f"delete or rename the load balancer {self.marks.unique}"
            raise Permanent(f"the {spec.key} exists without this cluster's tags", hint=hint)

        async def active() -> bool:
            return any(one["State"]["Code"] in ("active", "active_impaired") for one in await self._balancer())

        await until(active, self.settings.between)
        return found[0]

    async def _create_group(self, spec: ResourceSpec, known: Known) -> Resource:
        name = self._group_name(spec.name)
        try:
            made = await self.elb(
                "create_target_group", fresh=True, Name=name, Protocol="TCP", Port=spec.settings["port"],
                VpcId=known_id(known, VPC), TargetType="instance", HealthCheckProtocol="TCP",
                HealthCheckIntervalSeconds=10, HealthyThresholdCount=2, UnhealthyThresholdCount=2,
                Tags=as_list(self.marks.tags(spec.key)),
            )  # fmt: skip
            arn = made["TargetGroups"][0]["TargetGroupArn"]
        except There:
            there = (await self._groups()).get(spec.name)
            if there is None:
                raise
            arn = there["TargetGroupArn"]
        return await self._complete(arn, spec, known)

    async def _complete(self, arn: str, spec: ResourceSpec, known: Known) -> Resource:
        attributes = [{"Key": key, "Value": value} for key, value in _ATTRIBUTES.items()]
        await self.elb("modify_target_group_attributes", fresh=True, TargetGroupArn=arn, Attributes=attributes)
        wanted = {known.machines[name].id for name in spec.members if name in known.machines}
        there = set(await self._targets(arn))
        if wanted - there:
            await self.elb("register_targets", fresh=True, TargetGroupArn=arn, Targets=_as_targets(wanted - there))
        if there - wanted:
            await self.elb("deregister_targets", TargetGroupArn=arn, Targets=_as_targets(there - wanted))
        return replace(self._seen_group(spec.name, arn, dict(spec.settings)), members=spec.members)

    async def _create_listener(self, spec: ResourceSpec, known: Known) -> Resource:
        forward = [{"Type": "forward", "TargetGroupArn": known_id(known, _group_of(spec))}]
        balancer = known.resources.get(BALANCER)
        try:
            made = await self.elb(
                "create_listener", fresh=True, LoadBalancerArn=known_id(known, BALANCER), Protocol="TCP",
                Port=spec.settings["port"], DefaultActions=forward, Tags=as_list(self.marks.tags(spec.key)),
            )  # fmt: skip
            arn = made["Listeners"][0]["ListenerArn"]
        except There:
            there = await self._listeners([balancer] if balancer else [], await self._groups())
            arn = next(one.id for one in there if one.settings["port"] == spec.settings["port"])
        tags = self.marks.tags(spec.key)
        return Resource(id=arn, kind=spec.kind, name=spec.name, settings=dict(spec.settings), tags=tags)

    async def update(self, found: Resource, spec: ResourceSpec, known: Known) -> Resource:
        if spec.kind == "target-group":
            return await self._complete(found.id, spec, known)
        if spec.kind == "load-balancer":
            await self.elb("set_subnets", fresh=True, LoadBalancerArn=found.id, Subnets=_subnets(spec, known))
        else:
            forward = [{"Type": "forward", "TargetGroupArn": known_id(known, _group_of(spec))}]
            await self.elb("modify_listener", ListenerArn=found.id, DefaultActions=forward)
        return replace(found, settings=dict(spec.settings))

    async def detach(self, instance: str) -> None:
        for one in (await self._groups()).values():
            arn = one["TargetGroupArn"]
            with suppress(Gone):
                if instance in await self._targets(arn):
                    await self.elb("deregister_targets", TargetGroupArn=arn, Targets=_as_targets([instance]))

    async def delete(self, found: Resource) -> None:
        if found.kind == "listener":
            await ignore_gone(self.elb("delete_listener", ListenerArn=found.id))
        elif found.kind == "target-group":
            await ignore_gone(self.elb("delete_target_group", TargetGroupArn=found.id))
        else:
            await ignore_gone(self.elb("delete_load_balancer", LoadBalancerArn=found.id))


def _subnets(spec: ResourceSpec, known: Known) -> list[str]:
    return [known_id(known, key) for key in spec.needs if key.kind == "subnet"]


def _group_of(spec: ResourceSpec) -> ResourceKey:
    return ResourceKey("target-group", spec.name)


def _as_targets(ids: Iterable[str]) -> list[dict[str, str]]:
    return [{"Id": one} for one in sorted(ids)]
