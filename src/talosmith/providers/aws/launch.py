"""How an instance is launched: pure, from the inventory and the ids of what it stands on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from talosmith.model.machines import MachineSpec
from talosmith.model.secret import Secret
from talosmith.providers.aws.images import ROOT
from talosmith.providers.aws.marks import as_list
from talosmith.providers.aws.settings import AwsSettings
from talosmith.providers.aws.user_data import user_data

_GIB = 1024


def gib(mib: int) -> int:
    """EBS counts in whole GiB."""
    return -(-mib // _GIB)


def device(number: int, root: str = ROOT) -> str:
    """Of the disk with this number in the inventory: 0 is the one that Talos is on."""
    return root if number == 0 else f"/dev/sd{chr(ord('b') + number - 1)}"


def token(settings: AwsSettings, name: str, generation: int) -> str:
    """The same for everyone who creates this machine for the same time: EC2 launches one instance for it."""
    return hashlib.sha256(f"{settings.owner.id} {name} {generation}".encode()).hexdigest()[:48]


def tags(settings: AwsSettings, spec: MachineSpec) -> dict[str, str]:
    marks = settings.marks
    return {
        **marks.more,
        "Name": spec.name,
        marks.kubernetes_tag: "owned",
        **settings.owner.tags(spec.name, spec.role),
    }


def metadata(settings: AwsSettings) -> dict[str, Any]:
    return {
        "HttpTokens": "required",
        "HttpEndpoint": "enabled",
        "HttpPutResponseHopLimit": settings.section.hop_limit,
    }


def is_spot(settings: AwsSettings, spec: MachineSpec) -> bool:
    return settings.section.spot and spec.role == "worker"


def request(
    settings: AwsSettings,
    spec: MachineSpec,
    seed: Secret | None,
    *,
    image: Mapping[str, Any],
    subnet: str,
    groups: Sequence[str],
    profile: str,
) -> dict[str, Any]:
    """All of RunInstances but the client token."""
    section, own = settings.section, tags(settings, spec)
    interface = {
        "DeviceIndex": 0,
        "SubnetId": subnet,
        "Groups": [*groups],
        "PrivateIpAddress": str(spec.ip),
        "AssociatePublicIpAddress": not section.private,
        "DeleteOnTermination": True,
    }
    if section.subnets:
        del interface["AssociatePublicIpAddress"]  # as the subnet has it
    wanted: dict[str, Any] = {
        "ImageId": image["ImageId"],
        "InstanceType": settings.instance_type(spec),
        "MinCount": 1,
        "MaxCount": 1,
        "NetworkInterfaces": [interface],
        "BlockDeviceMappings": [
            {"DeviceName": device(number, image.get("RootDeviceName", ROOT)), "Ebs": volume(settings, size)}
            for number, size in enumerate(spec.disks_mib)
        ],
        "MetadataOptions": metadata(settings),
        "TagSpecifications": [
            {"ResourceType": kind, "Tags": as_list(own)} for kind in ("instance", "volume", "network-interface")
        ],
    }
    if seed is not None:
        wanted["UserData"] = user_data(spec.name, seed)
    if profile:
        wanted["IamInstanceProfile"] = {"Name": profile}
    if spec.role == "controlplane" and section.termination_protection:
        wanted["DisableApiTermination"] = True
    if is_spot(settings, spec):
        wanted["InstanceMarketOptions"] = {
            "MarketType": "spot",
            "SpotOptions": {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"},
        }
    return wanted


def volume(settings: AwsSettings, size_mib: int) -> dict[str, Any]:
    key = {"KmsKeyId": settings.section.kms_key} if settings.section.kms_key else {}
    return {"VolumeSize": gib(size_mib), "VolumeType": "gp3", "Encrypted": True, "DeleteOnTermination": True, **key}
