"""Instances that exist, changed in place: type, disks, tags, metadata options, instance profile."""

from __future__ import annotations

from dataclasses import dataclass

from talosmith.errors import Permanent
from talosmith.model.machines import Machine, MachineSpec
from talosmith.providers.aws import launch
from talosmith.providers.aws.instances import Found, devices
from talosmith.providers.aws.machines import Machines
from talosmith.providers.aws.marks import as_list, as_tags
from talosmith.providers.aws.network import until
from talosmith.providers.sizes import needs_restart, refuse_less


@dataclass(frozen=True, slots=True)
class Changes:
    machines: Machines

    async def resize(self, machine: Machine, spec: MachineSpec) -> Machine:
        instance = await self.machines.instances.must_get(machine)
        before = self.machines.instances.described(instance, await self.machines.instances.volumes_of(instance))
        refuse_less(before, spec)
        if before.fixed:
            what = ", ".join(map(str, before.fixed))
            hint = f"replace the node: talosmith destroy -n {spec.name}, then talosmith up"
            raise Permanent(f"{spec.name}: cannot be changed in place: {what}", hint=hint)
        await self._change_running(instance, spec)
        if needs_restart(before, spec):
            await self.machines.stop(machine.id)
        if instance["InstanceType"] != self.machines.settings.instance_type(spec):
            wanted = {"Value": self.machines.settings.instance_type(spec)}
            await self.machines.ec2("modify_instance_attribute", InstanceId=machine.id, InstanceType=wanted)
        await self._disks(instance, spec)
        return await self.machines.started(machine.id)

    async def _change_running(self, instance: Found, spec: MachineSpec) -> None:
        identity, now = instance["InstanceId"], as_tags(instance.get("Tags", ()))
        wanted = launch.tags(self.machines.settings, spec)
        if missing := {key: value for key, value in wanted.items() if now.get(key) != value}:
            await self.machines.ec2("create_tags", Resources=[identity], Tags=as_list(missing))
        options, limit = instance.get("MetadataOptions", {}), self.machines.settings.section.hop_limit
        if options and (options.get("HttpTokens"), options.get("HttpPutResponseHopLimit")) != ("required", limit):
            await self.machines.ec2(
                "modify_instance_metadata_options", InstanceId=identity, **launch.metadata(self.machines.settings)
            )
        await self._profile(instance, self.machines.instances.profile(spec))

    async def _profile(self, instance: Found, wanted: str) -> None:
        has = str(instance.get("IamInstanceProfile", {}).get("Arn", "")).rpartition("/")[2]
        if has == wanted:
            return
        filters = [{"Name": "instance-id", "Values": [instance["InstanceId"]]}]
        asked = await self.machines.client.call("ec2", "describe_iam_instance_profile_associations", Filters=filters)
        links = [
            one["AssociationId"] for one in asked["IamInstanceProfileAssociations"]
            if one["State"] in ("associating", "associated")
        ]  # fmt: skip
        if wanted and links:
            profile = {"Name": wanted}
            await self.machines.ec2(
                "replace_iam_instance_profile_association", AssociationId=links[0], IamInstanceProfile=profile
            )
        elif wanted:
            identity = instance["InstanceId"]
            await self.machines.ec2(
                "associate_iam_instance_profile", InstanceId=identity, IamInstanceProfile={"Name": wanted}
            )
        else:
            for link in links:
                await self.machines.ec2("disassociate_iam_instance_profile", AssociationId=link)

    async def _disks(self, instance: Found, spec: MachineSpec) -> None:
        volumes = await self.machines.instances.volumes_of(instance)
        there = [(name, volumes[one]) for name, one in devices(instance) if one in volumes]
        for (_, found), size in zip(there, spec.disks_mib, strict=False):
            if int(found["Size"]) < launch.gib(size):
                await self.machines.ec2("modify_volume", VolumeId=found["VolumeId"], Size=launch.gib(size))
        for number in range(len(there), len(spec.disks_mib)):
            await self._add_disk(instance, spec, number)

    async def _add_disk(self, instance: Found, spec: MachineSpec, number: int) -> None:
        wanted = launch.volume(self.machines.settings, spec.disks_mib[number])
        keep = {key: wanted[key] for key in ("VolumeType", "Encrypted", "KmsKeyId") if key in wanted}
        tags = [{"ResourceType": "volume", "Tags": as_list(launch.tags(self.machines.settings, spec))}]
        zone, name = instance["Placement"]["AvailabilityZone"], launch.device(number)
        token = launch.token(self.machines.settings, f"{instance['InstanceId']} {name}", 0)
        made = await self.machines.ec2(
            "create_volume", AvailabilityZone=zone, Size=wanted["VolumeSize"], ClientToken=token,
            TagSpecifications=tags, **keep,
        )  # fmt: skip
        identity = made["VolumeId"]

        async def available() -> bool:
            there = await self.machines.client.listed("ec2", "describe_volumes", "Volumes", VolumeIds=[identity])
            return bool(there) and there[0]["State"] != "creating"

        await until(available, self.machines.settings.between)
        await self.machines.ec2(
            "attach_volume", fresh=True, VolumeId=identity, InstanceId=instance["InstanceId"], Device=name
        )
        keeps = {"DeviceName": name, "Ebs": {"DeleteOnTermination": True}}
        await self.machines.ec2(
            "modify_instance_attribute", InstanceId=instance["InstanceId"], BlockDeviceMappings=[keeps]
        )
