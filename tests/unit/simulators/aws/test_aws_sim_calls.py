"""The simulated AWS records calls, has the vendor's images and several accounts, and compares what is kept."""

from __future__ import annotations

import time
import urllib.request

import pytest

from tests.simulators.aws import images
from tests.unit.simulators.aws.aws_clients import IMAGE, REGION, Aws, refused

pytestmark = pytest.mark.slow  # moto takes seconds to import


def test_calls_are_recorded_with_service_action_and_parameters(aws: Aws) -> None:
    zone = aws.cloud.add_hosted_zone("example.org")
    aws.vpc()
    aws.elbv2.describe_load_balancers()
    aws.iam.list_roles()
    aws.route53.list_resource_record_sets(HostedZoneId=zone)
    aws.client("s3").list_buckets()
    aws.client("service-quotas").list_service_quotas(ServiceCode="ec2")
    with refused("DryRunOperation"):
        aws.ec2.create_vpc(CidrBlock="10.0.0.0/16", DryRun=True)
    found = [(call.service, call.action, call.mutating) for call in aws.cloud.calls]
    assert found == [
        ("ec2", "CreateVpc", True),
        ("elbv2", "DescribeLoadBalancers", False),
        ("iam", "ListRoles", False),
        ("route53", "ListResourceRecordSets", False),
        ("s3", "ListBuckets", False),
        ("service-quotas", "ListServiceQuotas", False),
        ("ec2", "CreateVpc", False),
    ]
    assert aws.cloud.calls[0].params == {"CidrBlock": "127.201.7.0/24"}
    assert aws.cloud.calls[3].params["HostedZoneId"] == zone
    assert aws.cloud.calls[-1].error == "DryRunOperation"


def test_only_the_vendors_account_has_the_vendors_image(aws: Aws) -> None:
    name = images.image_name("v1.13.9", REGION)
    named = aws.ec2.describe_images(Filters=[{"Name": "name", "Values": [name]}])["Images"]
    newest = max(named, key=lambda one: one["CreationDate"])
    assert len(named) == 2 and images.is_fake(newest["ImageId"])
    (vendors,) = aws.ec2.describe_images(Owners=[images.TALOS_OWNER], Filters=[{"Name": "name", "Values": [name]}])[
        "Images"
    ]
    assert vendors["ImageId"] == IMAGE and vendors["RootDeviceName"] == "/dev/xvda"
    assert vendors["State"] == "available" and vendors["Architecture"] == "x86_64"


def test_each_region_has_its_own_images(aws: Aws) -> None:
    for region in images.REGIONS:
        found = aws.other("", region).ec2.describe_images()["Images"]
        assert len(found) == 4 * len(images.VERSIONS) and all(f"-{region}-" in one["Name"] for one in found)


def test_accounts_are_apart(aws: Aws) -> None:
    other = aws.other("222222222222")
    aws.vpc()
    assert len(aws.ec2.describe_vpcs()["Vpcs"]) == 2
    assert len(other.ec2.describe_vpcs()["Vpcs"]) == 1
    assert other.client("sts").get_caller_identity()["Account"] == "222222222222"
    assert aws.client("sts").get_caller_identity()["Arn"] == "arn:aws:iam::123456789012:user/talosmith"
    assert aws.cloud.account_of(other.server.env("222222222222")["AWS_ACCESS_KEY_ID"]) == "222222222222"


def test_what_is_kept_is_as_before_after_everything_is_deleted(aws: Aws) -> None:
    zone = aws.cloud.add_hosted_zone("example.org")
    before = aws.cloud.kept()
    vpc = aws.vpc()
    subnet, group = aws.subnet(vpc), aws.group(vpc)
    instance = aws.launch(subnet, SecurityGroupIds=[group])
    record = {"Name": "k8s.example.org", "Type": "A", "TTL": 60, "ResourceRecords": [{"Value": "10.0.0.1"}]}
    for action in ("CREATE", "DELETE"):
        changes = {"Changes": [{"Action": action, "ResourceRecordSet": record}]}
        aws.route53.change_resource_record_sets(HostedZoneId=zone, ChangeBatch=changes)
        assert aws.cloud.kept() != before
    aws.ec2.terminate_instances(InstanceIds=[instance])
    aws.ec2.delete_security_group(GroupId=group)
    aws.ec2.delete_subnet(SubnetId=subnet)
    aws.ec2.delete_vpc(VpcId=vpc)
    assert aws.cloud.kept() == before
    aws.ec2.create_tags(Resources=[aws.ec2.describe_vpcs()["Vpcs"][0]["VpcId"]], Tags=[{"Key": "a", "Value": "b"}])
    assert aws.cloud.kept() != before


def test_connections_are_kept_and_calls_are_fast(aws: Aws) -> None:
    aws.ec2.describe_vpcs()
    began = time.monotonic()
    for _ in range(20):
        aws.ec2.describe_vpcs()
    assert time.monotonic() - began < 20 * 0.1


def test_what_moto_lacks_is_an_error_that_says_so(aws: Aws) -> None:
    with refused("NotImplementedInSimulator", "ec2:CreateCapacityReservation"):
        aws.ec2.create_capacity_reservation(InstanceType="t3.small", InstancePlatform="Linux/UNIX", InstanceCount=1)


def test_a_name_that_is_not_known_is_not_found(aws: Aws) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"{aws.server.url}/_names?host=nowhere.example.org")  # noqa: S310
    assert caught.value.code == 404
