"""What AWS checks and moto does not, when instances are launched and changed."""

from __future__ import annotations

import base64
from ipaddress import IPv4Network, ip_address
from typing import TYPE_CHECKING, Any

from . import images  # isort: skip
from moto.ec2.models.instance_types import INSTANCE_TYPES

from .backends import ec2_of, iam_of, instance_of
from .calls import Call
from .corrections import free_addresses
from .errors import AwsError
from .hiding import is_hidden
from .hooks import before

if TYPE_CHECKING:
    from .world import Cloud

assert images  # before moto
_LARGEST = 16384
_STANDARD = "acdhimrtz"  # the families that the quota of standard instances counts


@before("ec2", "RunInstances")
def check_launch(cloud: Cloud, call: Call) -> None:
    data = str(call.params.get("UserData", ""))
    if len(base64.b64decode(data)) > _LARGEST:
        raise AwsError("InvalidParameterValue", f"User data is limited to {_LARGEST} bytes")
    _check_architecture(call)
    _check_profile(cloud, call)
    _check_addresses(call)
    _check_quota(cloud, call)


def _check_architecture(call: Call) -> None:
    image = ec2_of(call).amis.get(call.params.get("ImageId", ""))
    kind = INSTANCE_TYPES.get(str(call.params.get("InstanceType", "m1.small")))
    if kind is None:
        raise AwsError("InvalidParameterValue", f"Invalid value '{call.params['InstanceType']}' for InstanceType.")
    if image is None:
        return  # moto refuses it
    possible = kind["ProcessorInfo"]["SupportedArchitectures"]
    if image.architecture not in possible:
        text = (
            f"The architecture '{','.join(possible)}' of the specified instance type does not match the architecture"
            f" '{image.architecture}' of the specified AMI. Specify an instance type and an AMI that have matching"
            " architectures, and try again."
        )
        raise AwsError("InvalidParameterValue", text)


def _check_profile(cloud: Cloud, call: Call) -> None:
    given = call.params.get("IamInstanceProfile", {})
    name = given.get("Name") or str(given.get("Arn", "")).rpartition("/")[2]
    if not name:
        return
    known = [one for one in iam_of(call).instance_profiles.values() if one.name == name]
    if not known or is_hidden(cloud, known[0].id) or is_hidden(cloud, name):
        field = "name" if given.get("Name") else "arn"
        text = f"Value ({name}) for parameter iamInstanceProfile.{field} is invalid."
        raise AwsError("InvalidParameterValue", f"{text} Invalid IAM Instance Profile {field}")


def _check_addresses(call: Call) -> None:
    for subnet_id, address in _places(call.params):
        subnets = [found[subnet_id] for found in ec2_of(call).subnets.values() if subnet_id in found]
        if not subnets:
            continue  # moto refuses it
        network, count = IPv4Network(subnets[0].cidr_block), int(call.params.get("MinCount", 1))
        if not address:
            if len(free_addresses(subnets[0])) < count:
                text = f"There are not enough free addresses in subnet '{subnet_id}' to satisfy the requested number"
                raise AwsError("InsufficientFreeAddressesInSubnet", f"{text} of instances.")
        elif ip_address(address) not in network:
            raise AwsError(
                "InvalidParameterValue", f"Address {address} does not fall within the subnet's address range"
            )
        elif ip_address(address) in (*list(network)[:4], network[-1]):
            raise AwsError("InvalidParameterValue", f"Address {address} is in subnet's reserved address range")
        elif address not in free_addresses(subnets[0]):
            raise AwsError("InvalidIPAddress.InUse", f"Address {address} is in use.")


def _places(params: dict[str, Any]) -> list[tuple[str, str]]:
    """Subnet and fixed address of each interface; the address may be left out."""
    if not params.get("NetworkInterfaces"):
        return [(str(params.get("SubnetId", "")), str(params.get("PrivateIpAddress", "")))]
    found = []
    for one in params["NetworkInterfaces"]:
        primary = [str(a["PrivateIpAddress"]) for a in one.get("PrivateIpAddresses", ()) if a.get("Primary")]
        found.append((str(one.get("SubnetId", "")), str(one.get("PrivateIpAddress", "") or "".join(primary[:1]))))
    return found


def _check_quota(cloud: Cloud, call: Call) -> None:
    spot = call.params.get("InstanceMarketOptions", {}).get("MarketType") == "spot"
    limit = cloud.quotas["ec2", "L-34B43A08" if spot else "L-1216C47A"]
    kind = str(call.params.get("InstanceType", "m1.small"))
    running = [
        one.instance_type
        for one in ec2_of(call).all_instances()
        if one.state in ("pending", "running") and (one.lifecycle == "spot") is spot
    ]
    wanted = sum(_cpus(one) for one in [*running, *([kind] * int(call.params.get("MinCount", 1)))])
    if wanted > limit:
        code = "MaxSpotInstanceCountExceeded" if spot else "VcpuLimitExceeded"
        text = f"You have requested more vCPU capacity than your current vCPU limit of {limit:.0f} allows"
        raise AwsError(code, f"{text} for the instance bucket that the specified instance type belongs to.")


def _cpus(kind: str) -> int:
    known = INSTANCE_TYPES.get(kind)
    return int(known["VCpuInfo"]["DefaultVCpus"]) if known and kind[0] in _STANDARD else 0


@before("ec2", "StartInstances", "StopInstances", "RebootInstances")
def check_power(cloud: Cloud, call: Call) -> None:
    verb = call.action.removesuffix("Instances").lower()
    for name in call.params.get("InstanceIds", ()):
        instance = instance_of(call, name)
        if instance and instance.state in ("terminated", "shutting-down"):
            done = {"stop": "stopped", "start": "started", "reboot": "rebooted"}[verb]
            text = f"The instance '{name}' is not in a state from which it can be {done}."
            raise AwsError("IncorrectInstanceState", text)


@before("ec2", "ModifyInstanceAttribute")
def check_attribute(cloud: Cloud, call: Call) -> None:
    instance = instance_of(call, call.params["InstanceId"])
    changes = {"InstanceType", "UserData"} & set(call.params) or call.params.get("Attribute") in (
        "instanceType",
        "userData",
    )
    if instance and instance.state != "stopped" and changes:
        text = f"The instance '{instance.id}' is not in the 'stopped' state."
        raise AwsError("IncorrectInstanceState", text)


@before("ec2", "ModifyVolume")
def check_growth(cloud: Cloud, call: Call) -> None:
    volume = ec2_of(call).volumes.get(call.params["VolumeId"])
    size = int(call.params.get("Size", 0))
    if volume and size and size < int(volume.size):
        text = f"New size cannot be smaller than existing size: {volume.size} GiB"
        raise AwsError("InvalidParameterValue", text)
