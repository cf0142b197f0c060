"""What others have in the cluster's VPC stops `destroy` before its first deletion; what Kubernetes made goes, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.lab.aws.sites import Computer

pytestmark = pytest.mark.slow


def network_of(computer: Computer) -> tuple[str, str]:
    """Ids of the VPC, and of a subnet."""
    mine = [{"Name": "tag:talosmith-resource", "Values": ["subnet eu-central-1b"]}]
    found = computer.client("ec2").describe_subnets(Filters=mine)["Subnets"][0]
    return found["VpcId"], found["SubnetId"]


def kubernetes_tag(computer: Computer) -> str:
    return f"kubernetes.io/cluster/{computer.name}-{computer.owner.id}"


def blocked(computer: Computer, *named: str) -> None:
    """Before anything is deleted, with all that is in the way by name."""
    before, calls = computer.kept(), len(computer.aws_calls(mutating=True))
    said = computer.must(*computer.destroying, code=6)
    for one in named:
        assert one in said, said
    assert computer.kept() == before and len(computer.aws_calls(mutating=True)) == calls


def test_foreign_things_in_the_vpc(computers: Callable[..., Computer]) -> None:
    computer = computers()
    computer.must("up", "--yes")
    vpc, subnet = network_of(computer)
    ec2 = computer.client("ec2")
    image = ec2.describe_images(Owners=["540036508848"])["Images"][0]["ImageId"]
    named = [{"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": "bastion"}]}]
    made = ec2.run_instances(
        ImageId=image, InstanceType="t3.medium", MinCount=1, MaxCount=1, SubnetId=subnet, TagSpecifications=named
    )
    instance = made["Instances"][0]["InstanceId"]
    interface: dict[str, Any] = ec2.create_network_interface(SubnetId=subnet, Description="RDSNetworkInterface")
    identity = interface["NetworkInterface"]["NetworkInterfaceId"]
    group = ec2.create_security_group(GroupName="database", Description="of others", VpcId=vpc)["GroupId"]
    blocked(computer, f"instance {instance} (bastion)", f"network interface {identity} (RDSNetworkInterface)", group)
    assert "in sync" in computer.must("up", "--yes")  # what others have does not concern it

    ec2.terminate_instances(InstanceIds=[instance])
    blocked(computer, identity, "security group database")
    ec2.delete_network_interface(NetworkInterfaceId=identity)
    ec2.delete_security_group(GroupId=group)
    computer.must(*computer.destroying)
    computer.assert_clean()


def test_what_kubernetes_made_goes_with_the_cluster(computers: Callable[..., Computer]) -> None:
    """A load balancer with target group and security group, and a volume; another cluster's volume stays."""
    computer = computers()
    computer.must("up", "--yes")
    vpc, subnet = network_of(computer)
    ec2, elb = computer.client("ec2"), computer.client("elbv2")
    tag = {"Key": kubernetes_tag(computer), "Value": "owned"}
    group = ec2.create_security_group(
        GroupName="k8s-elb-a1", Description="for a Service", VpcId=vpc,
        TagSpecifications=[{"ResourceType": "security-group", "Tags": [tag]}],
    )["GroupId"]  # fmt: skip
    elb.create_load_balancer(Name="a1", Type="network", Subnets=[subnet], SecurityGroups=[group], Tags=[tag])
    elb.create_target_group(Name="k8s-a1", Protocol="TCP", Port=80, VpcId=vpc, Tags=[tag])
    classic = computer.client("elb")
    listener = {"Protocol": "tcp", "LoadBalancerPort": 80, "InstancePort": 30080}
    classic.create_load_balancer(
        LoadBalancerName="a2", Listeners=[listener], Subnets=[subnet], SecurityGroups=[group], Tags=[tag]
    )
    claims = [{"ResourceType": "volume", "Tags": [tag]}]
    volume = ec2.create_volume(AvailabilityZone="eu-central-1a", Size=10, TagSpecifications=claims)["VolumeId"]
    other = [{"ResourceType": "volume", "Tags": [{"Key": f"{tag['Key']}0", "Value": "owned"}]}]
    kept = ec2.create_volume(AvailabilityZone="eu-central-1a", Size=10, TagSpecifications=other)["VolumeId"]
    # The cloud controller lets the load balancer in to the nodes.
    mine = [{"Name": "tag:talosmith-resource", "Values": ["security-group nodes"]}]
    nodes = ec2.describe_security_groups(Filters=mine)["SecurityGroups"][0]["GroupId"]
    rule = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}
    ec2.authorize_security_group_ingress(GroupId=nodes, IpPermissions=[rule])
    assert "in sync" in computer.must("up", "--yes")  # its rules are not drift

    said = computer.must("plan", "--destroy", code=2)
    for one in ("balancer a1", "balancer a2", "target-group k8s-a1", "security-group k8s-elb-a1", f"volume {volume}"):
        assert f"delete kubernetes-{one}" in said, said
    computer.at.cloud.linger = 0.5
    computer.must(*computer.destroying)
    left = computer.client("ec2").describe_volumes()["Volumes"]
    assert [one["VolumeId"] for one in left] == [kept]
    ec2.delete_volume(VolumeId=kept)
    computer.assert_clean()


@pytest.mark.real  # for its length alone
def test_two_clusters_in_one_account(computers: Callable[..., Computer]) -> None:
    """Neither sees anything of the other, roles in IAM included, whose lists have no tags."""
    one = computers()
    other = computers(account=one.account)
    other.make_secrets()
    one.before = one.kept()
    one.must("up", "--yes")
    left = one.kept()
    assert "delete" not in other.must("plan", code=2)
    other.must("up", "--yes")
    assert "in sync" in one.must("plan") and "in sync" in other.must("plan")
    other.must(*other.destroying)
    assert one.kept() == left
    one.must(*one.destroying)
    one.assert_clean()
