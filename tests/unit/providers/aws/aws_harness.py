"""A provider of AWS in front of the simulated one, for the contracts and for tests of its own."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Any

import boto3
import pytest

from talosmith.model.cluster import Role
from talosmith.model.machines import Machine, MachineSpec, Owner
from talosmith.model.providers import Aws
from talosmith.model.resources import Difference, Resource, ResourceKey, ResourceSpec
from talosmith.providers.aws import AwsProvider, client
from talosmith.providers.aws.client import AwsClient
from talosmith.providers.aws.marks import as_list, as_tags
from talosmith.providers.aws.settings import AwsSettings
from talosmith.providers.base import Known
from tests.machine_specs import machine_spec, with_settings
from tests.provider_contract import There, persist
from tests.resource_contract import ResourceThere, in_order
from tests.simulators.aws import Cloud, Server

OWNER = Owner("tested", "0123456789abcdef")
REGION = "eu-central-1"
ZONES = ("eu-central-1a", "eu-central-1b")
RECORD = "k8s.sandbox.example.org"
KEYS = {"AWS_ACCESS_KEY_ID": "aws_access_key_id", "AWS_SECRET_ACCESS_KEY": "aws_secret_access_key"}


def spec_of(name: str, role: Role = "worker", **settings: Any) -> MachineSpec:
    number = int(name.rpartition("-")[2])
    offset = (10 if role == "controlplane" else 100) + number
    return machine_spec(
        name, role, str(ip_address("10.0.0.0") + offset), zone=ZONES[0], talos="v1.13.9",
        **{"disks_mib": (20480, 10240), **settings},
    )  # fmt: skip


NODES = {spec.name: spec for spec in (spec_of("cp-1", "controlplane"), *(spec_of(f"w-{n}") for n in range(1, 31)))}


_MADE: dict[tuple[object, ...], Any] = {}


class SharedClient(AwsClient):
    """Clients of boto3 serve all providers that would make the same: each costs the time of some hundred calls."""

    def _make(self, service: str) -> Any:
        client.boto3()  # where it cannot be imported
        env = tuple(sorted((name, value) for name, value in os.environ.items() if name.startswith(("AWS_", "HOME"))))
        key = (service, self.region, self.profile, env)
        if key not in _MADE:
            _MADE[key] = super()._make(service)
        return _MADE[key]

    async def close(self) -> None:
        self._clients = {}


def without_pauses(monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    """The simulated AWS is there at once; and this process uses it."""
    monkeypatch.setattr(client, "_NEW", 0.0)
    monkeypatch.setattr(client, "_PAUSE", 0.0)
    for name, value in server.env().items():
        monkeypatch.setenv(name, value)


class Planned(AwsProvider):
    """Creates machines before a resource that refers to them, as a plan does."""

    async def create_resource(self, spec: ResourceSpec, known: Known) -> Resource:
        machines = dict(known.machines)
        for name in spec.members:
            machines[name] = await persist(lambda name=name: self.create(self.settings.specs[name]))  # type: ignore[misc]
        return await super().create_resource(spec, Known(resources=known.resources, machines=machines))


@dataclass
class AwsHarness:
    cloud: Cloud
    server: Server
    owner: Owner = OWNER
    nodes: Mapping[str, MachineSpec] = field(default_factory=lambda: NODES)
    options: Mapping[str, Any] = field(default_factory=dict)
    record: str = RECORD
    settle: float = 0.02  # longer where several create at the same time

    @property
    def section(self) -> Aws:
        return Aws.model_validate(
            {
                "region": REGION,
                "azs": [*ZONES],
                "domain": "sandbox.example.org",
                "hosted_zone": "example.org",
                "admin_cidrs": ["203.0.113.0/24"],
                "iam": {"controlplane": ["ecr-read-only", "cloud-controller"], "workers": ["ecr-read-only"]},
                **self.options,
            }
        )

    def given(self, **options: Any) -> AwsHarness:
        """The same with other options of the inventory."""
        return replace(self, options={**self.options, **options})

    def wanting(self, **settings: Any) -> AwsHarness:
        """The same with other settings of the worker w-1."""
        return replace(self, nodes={**self.nodes, "w-1": with_settings(self.nodes["w-1"], **settings)})

    def sent(self, action: str) -> list[dict[str, Any]]:
        """The parameters of all such calls that had an effect."""
        return [call.params for call in self.cloud.calls if call.action == action and not call.error]

    async def found(self, name: str = "w-1") -> Machine:
        return next(one for one in await self.provider().find() if one.name == name)

    def settings(self) -> AwsSettings:
        return AwsSettings(
            section=self.section, owner=self.owner, specs=self.nodes, record=self.record, between=0.01,
            settle=self.settle,
        )  # fmt: skip

    def provider(self) -> AwsProvider:
        section = self.section
        return Planned(SharedClient(section.region, section.profile), self.settings())

    def client(self, service: str) -> Any:
        """Past the provider."""
        env = self.server.env()
        keys = {KEYS[name]: env[name] for name in KEYS}
        made = (service, self.server.url)
        if made not in _MADE:
            _MADE[made] = boto3.client(service, endpoint_url=self.server.url, region_name=REGION, **keys)
        return _MADE[made]

    async def stand(self, provider: AwsProvider) -> Known:
        """Create all that machines stand on, and nothing of the load balancer."""
        specs = {spec.key: spec for spec in provider.resources()}
        needed = [key for spec in self.nodes.values() for key in provider.machine_needs(spec)]
        for key in needed:
            needed += [one for one in specs[key].needs if one not in needed]
        made: dict[ResourceKey, Resource] = {}
        for one in in_order(tuple(spec for spec in specs.values() if spec.key in needed)):
            made[one.key] = await provider.create_resource(one, Known(resources=made, machines={}))
        return Known(resources=made, machines={})

    def spec(self, name: str, role: Role = "worker") -> MachineSpec:
        return self.nodes.get(name) or spec_of(name, role)

    async def there(self) -> list[There]:
        return sorted((_there(one) for one in self.cloud.instances()), key=lambda one: (one.name, one.id))

    def calls(self) -> int:
        return len(self.cloud.calls)

    def changes(self) -> list[str]:
        return [call.action for call in self.cloud.calls if call.mutating]

    async def lose_answers(self, times: int) -> None:
        self.cloud.lose_answers(times)

    async def fail_some(self, percent: float) -> None:
        self.cloud.fail_some(percent)

    async def hide_new(self, seconds: float) -> None:
        self.cloud.hide_new(seconds)

    async def pass_time(self, seconds: float) -> None:
        self.cloud.pass_time(seconds)

    async def intrude(self, name: str, tags: Mapping[str, str]) -> str:
        """It has the address that ours would get; so there is nothing that EC2 could call by the same name."""
        spec = self.spec(name)
        ec2 = self.client("ec2")
        mine = [{"Name": "tag:talosmith-resource", "Values": [f"subnet {spec.node.zone}"]}]
        subnet = ec2.describe_subnets(Filters=mine)["Subnets"][0]["SubnetId"]
        image = ec2.describe_images(Owners=["540036508848"])["Images"][0]["ImageId"]
        named = [{"ResourceType": "instance", "Tags": as_list({"Name": name, **tags})}]
        made = ec2.run_instances(
            ImageId=image, InstanceType="t3.medium", MinCount=1, MaxCount=1, SubnetId=subnet,
            PrivateIpAddress=str(spec.ip), TagSpecifications=named,
        )  # fmt: skip
        return str(made["Instances"][0]["InstanceId"])

    # Resources

    async def resources_there(self) -> list[ResourceThere]:
        """All that AWS has, by the names that tags give; without the instances."""
        found = []
        for parts in self.cloud.kept().values():
            for kinds in parts.values():
                for kind in kinds.keys() - {"instances", "volumes", "network interfaces"}:
                    found += [ResourceThere(_key(kind, name, one), repr(one)) for name, one in kinds[kind].items()]
        return sorted(found, key=lambda one: one.key)

    async def drift(self, *, beyond_repair: bool) -> ResourceKey:
        if beyond_repair:
            ec2 = self.client("ec2")
            mine = [{"Name": "tag:talosmith-resource", "Values": [f"subnet {ZONES[0]}"]}]
            subnet = ec2.describe_subnets(Filters=mine)["Subnets"][0]["SubnetId"]
            for backend in self.cloud.ec2_backends():
                if subnet in backend.subnets.get(f"{REGION}a", {}):
                    backend.subnets[f"{REGION}a"][subnet].cidr_block = "10.0.240.0/20"
            return ResourceKey("subnet", ZONES[0])
        group = self.group("nodes")
        rule = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
        self.client("ec2").authorize_security_group_ingress(GroupId=group, IpPermissions=[rule])
        return ResourceKey("security-group", "nodes")

    def group(self, name: str) -> str:
        """The id of a security group."""
        mine = [{"Name": "tag:talosmith-resource", "Values": [f"security-group {name}"]}]
        return str(self.client("ec2").describe_security_groups(Filters=mine)["SecurityGroups"][0]["GroupId"])

    async def intrude_resource(self) -> ResourceKey:
        """Only some names are unique in AWS: a load balancer's is."""
        ec2 = self.client("ec2")
        subnets = [one["SubnetId"] for one in ec2.describe_subnets()["Subnets"][:2]]
        name = f"talosmith-{self.owner.id}"
        self.client("elbv2").create_load_balancer(Name=name, Type="network", Subnets=subnets)
        return ResourceKey("load-balancer", "api")

    async def share(self) -> ResourceKey:
        raise AssertionError("clusters on AWS share nothing")


def _there(instance: Any) -> There:
    tags = as_tags({"Key": one["key"], "Value": one["value"]} for one in instance.get_tags())
    ours = {key: value for key, value in tags.items() if key.startswith("talosmith-")}
    return There(instance.id, tags.get("talosmith-node") or tags.get("Name", ""), ours, _POWER[instance.state])


_POWER = {"running": "on", "pending": "on", "stopped": "off", "stopping": "off", "shutting-down": "off"}


def _key(kind: str, name: str, thing: Any) -> ResourceKey:
    """Ours by tags or by their names in AWS."""
    if kind == "listeners":
        return ResourceKey("listener", {6443: "kubernetes", 50000: "talos"}[thing[0]])
    if kind == "instance profiles":
        return ResourceKey("instance profile", name)
    for word, ours in {"policies": "policy", "roles": "role"}.items():
        if kind == word and OWNER.id in name:
            return ResourceKey(ours, name.partition(f"talosmith-{OWNER.id}-")[2])
    if kind == "records" and RECORD in name:
        return ResourceKey("dns-record", RECORD)
    found = re.search(r"\('talosmith-resource', '(\S+) ([^']+)'\)", repr(thing))
    return ResourceKey(found[1], found[2]) if found else ResourceKey(kind, name)


# For tests of single resources and machines

LEADER, WORKER = NODES["cp-1"], NODES["w-1"]
BOTH = {"cp-1": LEADER, "w-1": WORKER}
PLAIN: dict[str, Any] = {"iam": []}
SSH = {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22}
OPEN = [{"CidrIp": "0.0.0.0/0"}]
RECORDED = ResourceKey("dns-record", RECORD)


async def standing(cloud: Cloud, server: Server) -> AwsHarness:
    """All that machines stand on is there, and no machine."""
    found = AwsHarness(cloud, server, nodes=BOTH, options=PLAIN)
    await found.stand(found.provider())
    cloud.calls.clear()
    return found


async def there(harness: AwsHarness) -> dict[ResourceKey, Resource]:
    return {one.key: one for one in await harness.provider().find_resources()}


async def difference(harness: AwsHarness, key: ResourceKey) -> Difference:
    provider = harness.provider()
    found = {one.key: one for one in await provider.find_resources()}
    return provider.difference(found[key], next(one for one in provider.resources() if one.key == key))


async def mend(harness: AwsHarness, key: ResourceKey) -> None:
    """As a plan does with what differs: in place."""
    provider = harness.provider()
    found = {one.key: one for one in await provider.find_resources()}
    spec = next(one for one in provider.resources() if one.key == key)
    assert provider.difference(found[key], spec).change == "update"
    machines = {one.name: one for one in await provider.find()}
    mended = await provider.update_resource(found[key], spec, Known(resources=found, machines=machines))
    assert mended.id == found[key].id
    assert (await difference(harness, key)).change == "none"
