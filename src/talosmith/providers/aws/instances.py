"""Looking for a cluster's instances, by tags alone, and what of them differs from the inventory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from talosmith.errors import Permanent
from talosmith.model.cluster import Role
from talosmith.model.machines import NODE_TAG, ROLE_TAG, Machine, MachineSpec, Power
from talosmith.model.resources import SettingChange
from talosmith.providers.aws.client import AwsClient
from talosmith.providers.aws.failures import Gone
from talosmith.providers.aws.launch import gib, is_spot, tags
from talosmith.providers.aws.marks import as_tags, of_cluster
from talosmith.providers.aws.settings import AwsSettings

LIVE = ("pending", "running", "stopping", "stopped")
_GIB = 1024
_RECENT = 1.0  # seconds for which one look serves all who ask …
_FORMER = 30.0  # … and for which former names are taken from it: they change by hand alone
Found = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Look:
    """All instances of the cluster, those that are terminated too, and their volumes by id."""

    instances: Sequence[Found]
    volumes: Mapping[str, Found]
    former: Sequence[Found] = ()  # with this cluster's id, and another name

    @property
    def live(self) -> list[Found]:
        return [one for one in self.instances if one["State"]["Name"] in LIVE]


class Instances:
    def __init__(self, client: AwsClient, settings: AwsSettings) -> None:
        self.client = client
        self.settings = settings
        self._look: asyncio.Task[Look] | None = None
        self._looked = 0.0

    async def look(self, recent_for: float = _RECENT) -> Look:
        """Machines and resources are looked for at the same time: one call serves both."""
        recent = time.monotonic() - self._looked < recent_for
        if self._look is None or (self._look.done() and (not recent or self._look.exception() is not None)):
            self._looked = time.monotonic()
            self._look = asyncio.create_task(self._ask())
        return await asyncio.shield(self._look)

    def forget(self) -> None:
        """Something was changed."""
        self._look = None

    async def _ask(self) -> Look:
        filters = of_cluster(self.settings.owner)
        reservations, volumes = await asyncio.gather(
            self.client.listed("ec2", "describe_instances", "Reservations", Filters=filters),
            self.client.listed("ec2", "describe_volumes", "Volumes", Filters=filters),
        )
        instances = [one for group in reservations for one in group["Instances"]]
        ours = [one for one in instances if self.is_ours(one)]
        former = [one for one in instances if not self.is_ours(one)]
        return Look(ours, {one["VolumeId"]: one for one in volumes}, former)

    def is_ours(self, instance: Found) -> bool:
        found = as_tags(instance.get("Tags", ()))
        return self.settings.owner.owns(found) and bool(found.get(NODE_TAG))

    async def list(self) -> list[Machine]:
        look = await self.look()
        found: dict[str, Machine] = {}
        for one in sorted(look.live, key=lambda one: (str(one.get("LaunchTime", "")), str(one["InstanceId"]))):
            machine = self.described(one, look.volumes)
            found.setdefault(machine.name, machine)
        return sorted(found.values(), key=lambda one: one.name)

    async def renamed(self) -> dict[str, tuple[str, ...]]:
        """By cluster name: instances with this cluster's id and another cluster name."""
        found: dict[str, tuple[str, ...]] = {}
        for one in (await self.look(_FORMER)).former:
            if one["State"]["Name"] not in LIVE:
                continue
            marks = as_tags(one.get("Tags", ()))
            if name := self.settings.owner.former_name(marks):
                found[name] = (*found.get(name, ()), str(marks.get(NODE_TAG) or one["InstanceId"]))
        return found

    async def get(self, identity: str) -> Found | None:
        """A live instance of this cluster by its id."""
        found = await self.any(identity)
        return found if found is not None and found["State"]["Name"] in LIVE and self.is_ours(found) else None

    async def any(self, identity: str) -> Found | None:
        if not identity.startswith("i-"):
            return None
        try:
            asked = await self.client.call("ec2", "describe_instances", InstanceIds=[identity])
        except Gone:
            return None
        return next((one for group in asked["Reservations"] for one in group["Instances"]), None)

    async def must_get(self, machine: Machine) -> Found:
        found = await self.get(machine.id)
        if found is None:
            raise Permanent(f"the machine {machine.name!r} is gone", hint="plan again: AWS has changed meanwhile")
        return found

    async def volumes_of(self, instance: Found) -> dict[str, Found]:
        """The machine's own; those of Kubernetes' persistent volumes carry other tags."""
        attached = {"Name": "attachment.instance-id", "Values": [instance["InstanceId"]]}
        filters = [*of_cluster(self.settings.owner), attached]
        there = await self.client.listed("ec2", "describe_volumes", "Volumes", Filters=filters)
        return {one["VolumeId"]: one for one in there}

    def described(self, instance: Found, volumes: Mapping[str, Found]) -> Machine:
        found = as_tags(instance.get("Tags", ()))
        name, role = found[NODE_TAG], _role(found.get(ROLE_TAG, ""))
        spec = self.settings.specs.get(name)
        running, restart = self._outdated(instance, spec) if spec is not None else ("", "")
        address = str(instance.get("PrivateIpAddress", ""))
        public = str(instance.get("PublicIpAddress", ""))
        own = {key: value for key, value in found.items() if key.startswith("talosmith-")}
        return Machine(
            id=instance["InstanceId"],
            name=name,
            role=role,
            power=_power(instance["State"]["Name"]),
            addresses=(address,) if address else (),
            endpoint=public if self.settings.section.reaches_public else "",
            disks_mib=_sizes(instance, volumes, spec),
            fixed=_fixed(instance, spec) if spec is not None else (),
            kept=_kept(self.settings, instance, spec) if spec is not None else (),
            outdated=restart,
            outdated_running=running,
            grows=True,
            tags=own,
        )

    def _outdated(self, instance: Found, spec: MachineSpec) -> tuple[str, str]:
        """What differs from the inventory besides sizes: changed while the machine runs, or with a restart."""
        running, restart = [], []
        has, wants = instance["InstanceType"], self.settings.instance_type(spec)
        if has != wants:
            restart.append(f"instance type from {has} to {wants}")
        options = instance.get("MetadataOptions", {})
        hops, limit = options.get("HttpPutResponseHopLimit"), self.settings.section.hop_limit
        if hops is not None and hops != limit:
            running.append(f"hop limit of the instance metadata from {hops} to {limit}")
        if options.get("HttpTokens", "required") != "required":
            running.append("instance metadata from optional tokens to IMDSv2 alone")
        now = as_tags(instance.get("Tags", ()))
        for key, value in sorted(tags(self.settings, spec).items()):
            if now.get(key) != value:
                running.append(f"tag {key} from {now.get(key, 'none')} to {value}")
        profile = str(instance.get("IamInstanceProfile", {}).get("Arn", "")).rpartition("/")[2]
        wanted = self.profile(spec)
        if profile != wanted:
            running.append(f"instance profile from {profile or 'none'} to {wanted or 'none'}")
        return "; ".join(running), "; ".join(restart)

    def profile(self, spec: MachineSpec) -> str:
        group = self.settings.group(spec.role)
        return f"{self.settings.marks.unique}-{group}" if self.settings.policies(spec.role) else ""


def _fixed(instance: Found, spec: MachineSpec) -> tuple[SettingChange, ...]:
    """An instance keeps its private address and its zone for as long as it exists."""
    pairs = (
        ("ip", str(instance.get("PrivateIpAddress", "")), str(spec.ip)),
        ("az", str(instance.get("Placement", {}).get("AvailabilityZone", "")), spec.node.zone or ""),
    )
    return tuple(SettingChange(name, has, wants) for name, has, wants in pairs if has and wants and has != wants)


def _kept(settings: AwsSettings, instance: Found, spec: MachineSpec) -> tuple[SettingChange, ...]:
    """How an instance is paid for is decided when it is launched."""
    has, wants = instance.get("InstanceLifecycle") == "spot", is_spot(settings, spec)
    return (SettingChange("spot", has, wants),) if has != wants else ()


def public_address(instance: Found) -> str:
    return str(instance.get("PublicIpAddress", ""))


def _role(text: str) -> Role:
    return "controlplane" if text == "controlplane" else "worker"


def _power(state: str) -> Power:
    return {"pending": "on", "running": "on", "stopping": "off", "stopped": "off"}.get(state, "unknown")  # type: ignore[return-value]


def devices(instance: Found) -> list[tuple[str, str]]:
    """Device and volume of each disk: the one that Talos is on first."""
    root = instance.get("RootDeviceName", "/dev/xvda")
    there = [(one["DeviceName"], one["Ebs"]["VolumeId"]) for one in instance.get("BlockDeviceMappings", ())]
    return sorted(there, key=lambda one: (one[0] != root, one[0]))


def _sizes(instance: Found, volumes: Mapping[str, Found], spec: MachineSpec | None) -> tuple[int, ...]:
    """EBS counts in GiB, and rounds up: that is no difference to what was asked for."""
    wanted = spec.disks_mib if spec is not None else ()
    sizes = [int(volumes[one]["Size"]) for _, one in devices(instance) if one in volumes]
    return tuple(
        wanted[number] if number < len(wanted) and gib(wanted[number]) == size else size * _GIB
        for number, size in enumerate(sizes)
    )
