"""The simulated AWS throttles, fails, loses answers, and does not see at once what was created."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from botocore.exceptions import BotoCoreError, ClientError, ConnectionClosedError

from tests.unit.simulators.aws.aws_clients import Aws, refused
from tests.waiting import until

pytestmark = pytest.mark.slow  # moto takes seconds to import


def test_throttled_calls(aws: Aws) -> None:
    aws.cloud.throttle(2)
    with refused("RequestLimitExceeded"):
        aws.ec2.describe_vpcs()
    with refused("Throttling"):
        aws.iam.list_roles()
    aws.ec2.describe_vpcs()
    aws.cloud.throttle(1)
    aws.client("ec2", retries=True).describe_vpcs()
    assert [call.error for call in aws.cloud.calls[-2:]] == ["RequestLimitExceeded", ""]


def test_a_call_is_refused_on_demand(aws: Aws) -> None:
    subnet = aws.subnet(aws.vpc())
    aws.cloud.refuse("ec2:RunInstances", "InsufficientInstanceCapacity", "not sufficient", status=500)
    with refused("InsufficientInstanceCapacity", "sufficient"):
        aws.launch(subnet)
    aws.launch(subnet)


def test_lost_answers_are_of_calls_that_had_their_effect(aws: Aws) -> None:
    subnet = aws.subnet(aws.vpc())
    aws.cloud.lose_answers(2)
    aws.ec2.describe_vpcs()
    with pytest.raises(ConnectionClosedError):
        aws.launch(subnet, ClientToken="once")
    assert len(aws.cloud.instances()) == 1
    again = aws.client("ec2", retries=True).run_instances(**aws.launching(subnet, ClientToken="once"))
    assert [again["Instances"][0]["InstanceId"]] == [one.id for one in aws.cloud.instances()]
    assert [call.error for call in aws.cloud.calls if call.action == "RunInstances"] == ["cut", "cut", ""]


def test_some_calls_fail_half_of_them_after_their_effect(aws: Aws) -> None:
    subnet = aws.subnet(aws.vpc())

    def outcomes() -> list[str]:
        aws.cloud.fail_some(50, seed=7)
        aws.cloud.calls.clear()
        for number in range(40):
            with suppress(ClientError, BotoCoreError):
                aws.ec2.create_tags(Resources=[subnet], Tags=[{"Key": f"n{number}", "Value": ""}])
        return [call.error for call in aws.cloud.calls]

    first = outcomes()
    assert set(first) == {"", "cut", "InternalError", "ServiceUnavailable"}
    assert 10 <= sum(map(bool, first)) <= 30
    aws.cloud.fail_some(0)
    tags = aws.ec2.describe_subnets(SubnetIds=[subnet])["Subnets"][0]["Tags"]
    assert first.count("") < len(tags) < 40
    assert outcomes() == first


def test_what_is_new_is_not_seen(aws: Aws) -> None:
    aws.cloud.hide_new(10)
    vpc = aws.vpc()
    assert len(aws.ec2.describe_vpcs()["Vpcs"]) == 1
    with refused("InvalidVpcID.NotFound"):
        aws.ec2.describe_vpcs(VpcIds=[vpc])
    with refused("InvalidVpcID.NotFound"):
        aws.subnet(vpc)
    aws.cloud.pass_time(11)
    subnet, group = aws.subnet(vpc), aws.group(vpc)
    with refused("InvalidSubnetID.NotFound"):
        aws.launch(subnet)
    with refused("InvalidGroup.NotFound"):
        aws.ec2.describe_security_groups(GroupIds=[group])
    with refused("InvalidGroup.Duplicate"):
        aws.group(vpc)
    aws.cloud.pass_time(11)
    instance = aws.launch(subnet, ClientToken="one")
    assert not aws.ec2.describe_instances()["Reservations"]
    with refused("InvalidInstanceID.NotFound"):
        aws.instance(instance)
    assert aws.launch(subnet, ClientToken="one") == instance
    with refused("DependencyViolation"):
        aws.ec2.delete_subnet(SubnetId=subnet)
    aws.cloud.pass_time(11)
    assert aws.instance(instance)["State"]["Name"] == "running"


def test_new_profiles_and_load_balancers_are_not_seen(aws: Aws) -> None:
    vpc = aws.vpc()
    subnet = aws.subnet(vpc)
    aws.cloud.hide_new(10)
    aws.iam.create_role(RoleName="node", AssumeRolePolicyDocument=json.dumps({"Statement": []}))
    aws.iam.create_instance_profile(InstanceProfileName="node")
    with refused("NoSuchEntity"):
        aws.iam.get_role(RoleName="node")
    with refused("EntityAlreadyExists"):
        aws.iam.create_instance_profile(InstanceProfileName="node")
    with refused("NoSuchEntity"):
        aws.iam.add_role_to_instance_profile(InstanceProfileName="node", RoleName="node")
    with refused("InvalidParameterValue", "Invalid IAM Instance Profile name"):
        aws.launch(subnet, IamInstanceProfile={"Name": "node"})
    balancer, group = aws.balancer(subnet), aws.target_group(vpc)
    with refused("LoadBalancerNotFound"):
        aws.listener(balancer, group)
    aws.cloud.pass_time(11)
    aws.iam.add_role_to_instance_profile(InstanceProfileName="node", RoleName="node")
    aws.launch(subnet, IamInstanceProfile={"Name": "node"})
    aws.listener(balancer, group)


def test_watchers_are_told_of_each_call(aws: Aws) -> None:
    seen: list[str] = []
    aws.cloud.watchers.append(lambda call: seen.append(call.iam_action))
    aws.ec2.describe_vpcs()
    assert seen == ["ec2:DescribeVpcs"]


def test_what_is_due_happens_between_calls(aws: Aws) -> None:
    aws.cloud.clock.thaw()
    aws.cloud.terminate_takes = 0.05
    instance = aws.launch(aws.subnet(aws.vpc()))
    aws.ec2.terminate_instances(InstanceIds=[instance])
    until(lambda: aws.cloud.instance(instance).state == "terminated")
