"""Instances and volumes of the simulated AWS: launch, client tokens, power, termination."""

from __future__ import annotations

import base64

import pytest

from tests.simulators.aws import images
from tests.unit.simulators.aws.aws_clients import IMAGE, REGION, Aws, refused

pytestmark = pytest.mark.slow  # moto takes seconds to import


@pytest.fixture
def subnet(aws: Aws) -> str:
    return aws.subnet(aws.vpc())


def test_a_client_token_launches_once(aws: Aws, subnet: str) -> None:
    first = aws.launch(subnet, ClientToken="cp-1", PrivateIpAddress="127.201.7.10")
    assert aws.launch(subnet, ClientToken="cp-1", PrivateIpAddress="127.201.7.10") == first
    assert len(aws.cloud.instances()) == 1
    with refused("IdempotentParameterMismatch"):
        aws.launch(subnet, ClientToken="cp-1", PrivateIpAddress="127.201.7.11")
    filters = [{"Name": "client-token", "Values": ["cp-1"]}]
    assert len(aws.ec2.describe_instances(Filters=filters)["Reservations"]) == 1
    aws.ec2.terminate_instances(InstanceIds=[first])
    with refused("IdempotentInstanceTerminated"):
        aws.launch(subnet, ClientToken="cp-1", PrivateIpAddress="127.201.7.10")
    assert aws.launch(subnet, ClientToken="cp-1b", PrivateIpAddress="127.201.7.10") != first


def test_a_client_token_is_of_one_account(aws: Aws, subnet: str) -> None:
    other = aws.other("222222222222")
    theirs = other.launch(other.subnet(other.vpc()), ClientToken="cp-1")
    assert aws.launch(subnet, ClientToken="cp-1") != theirs


def test_a_nat_gateway_is_created_once(aws: Aws, subnet: str) -> None:
    address = aws.ec2.allocate_address(Domain="vpc")["AllocationId"]
    params = {"SubnetId": subnet, "AllocationId": address, "ClientToken": "t"}
    made = [aws.ec2.create_nat_gateway(**params)["NatGateway"]["NatGatewayId"] for _ in range(2)]
    assert made[0] == made[1] and len(aws.ec2.describe_nat_gateways()["NatGateways"]) == 1


def test_user_data_is_limited_before_base64(aws: Aws, subnet: str) -> None:
    with refused("InvalidParameterValue", "User data is limited to 16384 bytes"):
        aws.launch(subnet, UserData="x" * 16385)
    instance = aws.launch(subnet, UserData="x" * 16384)
    found = aws.ec2.describe_instance_attribute(InstanceId=instance, Attribute="userData")["UserData"]["Value"]
    assert base64.b64decode(found) == b"x" * 16384


def test_a_fixed_address_is_given_once_and_never_a_reserved_one(aws: Aws, subnet: str) -> None:
    first = aws.launch(subnet, PrivateIpAddress="127.201.7.10")
    with refused("InvalidIPAddress.InUse", "Address 127.201.7.10 is in use."):
        aws.launch(subnet, PrivateIpAddress="127.201.7.10")
    for host in (0, 1, 2, 3, 15):
        with refused("InvalidParameterValue", "reserved"):
            aws.launch(subnet, PrivateIpAddress=f"127.201.7.{host}")
    with refused("InvalidParameterValue", "does not fall within"):
        aws.launch(subnet, PrivateIpAddress="127.201.7.20")
    assert aws.instance(aws.launch(subnet))["PrivateIpAddress"] == "127.201.7.4"
    aws.ec2.terminate_instances(InstanceIds=[first])
    nic = {"DeviceIndex": 0, "SubnetId": subnet, "PrivateIpAddress": "127.201.7.10"}
    params = aws.launching(subnet, NetworkInterfaces=[nic])
    del params["SubnetId"]
    made = aws.ec2.run_instances(**params)["Instances"][0]["InstanceId"]
    assert aws.instance(made)["PrivateIpAddress"] == "127.201.7.10"


def test_addresses_of_a_subnet_run_out(aws: Aws, subnet: str) -> None:
    aws.ec2.run_instances(**aws.launching(subnet, MinCount=11, MaxCount=11))
    with refused("InsufficientFreeAddressesInSubnet"):
        aws.launch(subnet)


def test_an_image_and_a_type_must_exist_and_match(aws: Aws, subnet: str) -> None:
    with refused("InvalidAMIID.NotFound"):
        aws.launch(subnet, ImageId="ami-0123456789abcdef0")
    with refused("InvalidAMIID.NotFound"):
        aws.launch(subnet, ImageId=images.image_id("v1.13.9", "us-east-1"))
    with refused("InvalidParameterValue", "Invalid value 't9.huge' for InstanceType."):
        aws.launch(subnet, InstanceType="t9.huge")
    with refused("InvalidParameterValue", "architecture"):
        aws.launch(subnet, ImageId=images.image_id("v1.13.9", REGION, "arm64"))
    with refused("InvalidParameterValue", "Invalid IAM Instance Profile name"):
        aws.launch(subnet, IamInstanceProfile={"Name": "absent"})
    assert not aws.cloud.instances()


def test_capacity_is_limited_by_the_quota(aws: Aws, subnet: str) -> None:
    aws.cloud.quotas["ec2", "L-1216C47A"] = 4
    aws.ec2.run_instances(**aws.launching(subnet, MinCount=2, MaxCount=2))
    with refused("VcpuLimitExceeded", "limit of 4"):
        aws.launch(subnet)


def test_termination_takes_time_and_the_instance_stays_listed(aws: Aws, subnet: str) -> None:
    aws.cloud.terminate_takes = 30
    instance = aws.launch(subnet)
    aws.ec2.terminate_instances(InstanceIds=[instance])
    aws.ec2.terminate_instances(InstanceIds=[instance])
    assert aws.instance(instance)["State"]["Name"] == "shutting-down"
    with refused("DependencyViolation"):
        aws.ec2.delete_subnet(SubnetId=subnet)
    aws.cloud.pass_time(31)
    found = aws.instance(instance)
    assert found["State"]["Name"] == "terminated" and "PrivateIpAddress" not in found and "SubnetId" not in found
    aws.ec2.delete_subnet(SubnetId=subnet)
    with refused("IncorrectInstanceState"):
        aws.ec2.start_instances(InstanceIds=[instance])


def test_an_instance_is_pending_and_stopping_for_a_while(aws: Aws, subnet: str) -> None:
    aws.cloud.launch_takes = aws.cloud.stop_takes = 5
    instance = aws.launch(subnet)

    def state() -> str:
        return str(aws.instance(instance)["State"]["Name"])

    assert state() == "pending"
    aws.cloud.pass_time(6)
    assert state() == "running"
    aws.ec2.stop_instances(InstanceIds=[instance])
    assert state() == "stopping"
    aws.cloud.pass_time(6)
    assert state() == "stopped"


def test_termination_protection(aws: Aws, subnet: str) -> None:
    instance = aws.launch(subnet, DisableApiTermination=True)
    with refused("OperationNotPermitted"):
        aws.ec2.terminate_instances(InstanceIds=[instance])
    aws.cloud.kill_instance(instance)
    assert aws.instance(instance)["State"]["Name"] == "terminated"
    assert "Spot" in aws.instance(instance)["StateReason"]["Message"]


def test_volumes_go_with_the_instance_or_stay(aws: Aws, subnet: str) -> None:
    data = [{"DeviceName": f"/dev/sd{letter}", "Ebs": {"VolumeSize": 5, "DeleteOnTermination": letter == "f"}}
            for letter in "fg"]  # fmt: skip
    instance = aws.launch(subnet, BlockDeviceMappings=data)
    devices = {one["DeviceName"]: one["Ebs"] for one in aws.instance(instance)["BlockDeviceMappings"]}
    assert sorted(devices) == ["/dev/sdf", "/dev/sdg", "/dev/xvda"]
    with refused("VolumeInUse"):
        aws.ec2.delete_volume(VolumeId=devices["/dev/sdg"]["VolumeId"])
    aws.ec2.terminate_instances(InstanceIds=[instance])
    (left,) = aws.ec2.describe_volumes()["Volumes"]
    assert left["VolumeId"] == devices["/dev/sdg"]["VolumeId"] and left["State"] == "available"


def test_a_root_volume_goes_with_the_instance_by_default(aws: Aws, subnet: str) -> None:
    root = [{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 20, "VolumeType": "gp3", "Encrypted": True}}]
    tags = [{"ResourceType": "volume", "Tags": [{"Key": "talosmith-node", "Value": "cp-1"}]}]
    instance = aws.launch(subnet, BlockDeviceMappings=root, TagSpecifications=tags)
    (volume,) = aws.ec2.describe_volumes()["Volumes"]
    assert (volume["Size"], volume["VolumeType"], volume["Encrypted"]) == (20, "gp3", True)
    assert volume["Tags"] == tags[0]["Tags"]
    aws.ec2.terminate_instances(InstanceIds=[instance])
    assert not aws.ec2.describe_volumes()["Volumes"]


def test_a_volume_grows_and_never_shrinks(aws: Aws, subnet: str) -> None:
    aws.launch(subnet, BlockDeviceMappings=[{"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 20}}])
    volume = aws.ec2.describe_volumes()["Volumes"][0]["VolumeId"]
    aws.ec2.modify_volume(VolumeId=volume, Size=40)
    assert aws.ec2.describe_volumes(VolumeIds=[volume])["Volumes"][0]["Size"] == 40
    (change,) = aws.ec2.describe_volumes_modifications(VolumeIds=[volume])["VolumesModifications"]
    assert (change["OriginalSize"], change["TargetSize"], change["ModificationState"]) == (20, 40, "completed")
    with refused("InvalidParameterValue", "smaller"):
        aws.ec2.modify_volume(VolumeId=volume, Size=30)


def test_a_type_is_changed_only_when_stopped(aws: Aws, subnet: str) -> None:
    instance = aws.launch(subnet)
    with refused("IncorrectInstanceState"):
        aws.ec2.modify_instance_attribute(InstanceId=instance, InstanceType={"Value": "m6i.large"})
    aws.ec2.stop_instances(InstanceIds=[instance])
    aws.ec2.modify_instance_attribute(InstanceId=instance, InstanceType={"Value": "m6i.large"})
    aws.ec2.start_instances(InstanceIds=[instance])
    assert aws.instance(instance)["InstanceType"] == "m6i.large"


def test_public_addresses_change_with_power_or_are_the_private_ones(aws: Aws, subnet: str) -> None:
    aws.ec2.modify_subnet_attribute(SubnetId=subnet, MapPublicIpOnLaunch={"Value": True})
    instance = aws.launch(subnet)
    first = aws.instance(instance)["PublicIpAddress"]
    aws.ec2.stop_instances(InstanceIds=[instance])
    assert "PublicIpAddress" not in aws.instance(instance)
    aws.ec2.start_instances(InstanceIds=[instance])
    assert aws.instance(instance)["PublicIpAddress"] != first
    aws.cloud.public_is_private = True
    found = aws.instance(instance)
    assert found["PublicIpAddress"] == found["PrivateIpAddress"] == "127.201.7.4"
    assert found["NetworkInterfaces"][0]["Association"]["PublicIp"] == "127.201.7.4"


def test_the_image_is_the_vendors(aws: Aws, subnet: str) -> None:
    assert aws.instance(aws.launch(subnet))["ImageId"] == IMAGE
