"""The simulated AWS refuses what a policy does not allow, credentials that are not valid, and a wrong clock."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.simulators.aws.calls import key_of
from tests.unit.simulators.aws.aws_clients import Aws, refused

pytestmark = pytest.mark.slow  # moto takes seconds to import

OURS = {"StringEquals": {"aws:ResourceTag/talosmith-cluster": "dev"}}
ASKED = {"StringEquals": {"aws:RequestTag/talosmith-cluster": "dev"}}
TAGS = [{"Key": "talosmith-cluster", "Value": "dev"}]


def _policy(*statements: dict[str, Any]) -> dict[str, Any]:
    return {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Resource": "*", **statement} for statement in statements],
    }


def _tagged(kind: str) -> list[dict[str, Any]]:
    return [{"ResourceType": kind, "Tags": TAGS}]


def test_denied_actions(aws: Aws) -> None:
    aws.cloud.deny("ec2:CreateVpc", "iam:*", "elasticloadbalancing:Describe*", "route53:ListHostedZones")
    with refused("UnauthorizedOperation", "not authorized to perform: ec2:CreateVpc") as caught:
        aws.vpc()
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
    with refused("AccessDenied", "iam:ListRoles"):
        aws.iam.list_roles()
    with refused("AccessDenied"):
        aws.elbv2.describe_load_balancers()
    with refused("AccessDenied"):
        aws.route53.list_hosted_zones()
    aws.ec2.describe_vpcs()
    aws.cloud.deny("servicequotas:*")
    with refused("AccessDeniedException"):
        aws.client("service-quotas").list_service_quotas(ServiceCode="ec2")
    aws.cloud.deny()
    aws.vpc()


def test_a_dry_run_tells_what_would_be_refused(aws: Aws) -> None:
    aws.cloud.deny("ec2:CreateVpc")
    with refused("UnauthorizedOperation"):
        aws.ec2.create_vpc(CidrBlock="10.0.0.0/16", DryRun=True)
    with refused("DryRunOperation"):
        aws.ec2.create_nat_gateway(SubnetId="subnet-1", DryRun=True)
    with refused("DryRunOperation"):
        aws.ec2.describe_vpcs(DryRun=True)
    assert not any(call.mutating for call in aws.cloud.calls)


def test_only_what_a_policy_allows(aws: Aws) -> None:
    aws.cloud.allow_only(_policy({"Action": ["ec2:Describe*", "ec2:CreateVpc"]}, {"Action": "iam:Get*"}))
    aws.vpc()
    with refused("UnauthorizedOperation", "ec2:CreateSecurityGroup"):
        aws.group(aws.ec2.describe_vpcs()["Vpcs"][0]["VpcId"])
    with refused("AccessDenied"):
        aws.iam.list_roles()
    with refused("UnauthorizedOperation", "ec2:CreateTags"):
        aws.ec2.create_vpc(CidrBlock="10.0.0.0/16", TagSpecifications=_tagged("vpc"))
    assert aws.client("sts").get_caller_identity()["Account"]
    aws.cloud.allow_only(_policy({"Action": "*"}, {"Action": "ec2:DescribeVpcs", "Effect": "Deny"}))
    with refused("UnauthorizedOperation"):
        aws.ec2.describe_vpcs()


def test_conditions_on_tags(aws: Aws) -> None:
    subnet = aws.subnet(aws.vpc())
    ours = aws.launch(subnet, TagSpecifications=_tagged("instance"))
    other = aws.launch(subnet)
    aws.cloud.allow_only(
        _policy(
            {"Action": "ec2:TerminateInstances", "Condition": OURS},
            {"Action": ["ec2:CreateVpc", "ec2:CreateTags"], "Condition": ASKED},
        )
    )
    with refused("UnauthorizedOperation", other):
        aws.ec2.terminate_instances(InstanceIds=[ours, other])
    aws.ec2.terminate_instances(InstanceIds=[ours])
    with refused("UnauthorizedOperation"):
        aws.vpc("10.1.0.0/16")
    aws.ec2.create_vpc(CidrBlock="10.1.0.0/16", TagSpecifications=_tagged("vpc"))
    with pytest.raises(ValueError, match="NumericLessThan"):
        aws.cloud.allow_only(_policy({"Action": "*", "Condition": {"NumericLessThan": {"a": "1"}}}))


def test_each_resource_of_a_launch_must_be_allowed(aws: Aws) -> None:
    subnet = aws.subnet(aws.vpc())
    types = ["arn:aws:ec2:*:*:instance/*", "arn:aws:ec2:*:*:volume/*", "arn:aws:ec2:*:*:network-interface/*"]
    for more, missing in (("subnet", "image/ami-"), ("image", f"subnet/{subnet}")):
        allowed = [*types, f"arn:aws:ec2:*:*:{more}/*"]
        aws.cloud.allow_only(_policy({"Action": "ec2:RunInstances", "Resource": allowed}))
        with refused("UnauthorizedOperation", missing):
            aws.launch(subnet)
    both = [*types, "arn:aws:ec2:*:*:subnet/*", "arn:aws:ec2:*::image/*"]
    aws.cloud.allow_only(_policy({"Action": "ec2:RunInstances", "Resource": both}))
    aws.launch(subnet)
    spot = {"InstanceMarketOptions": {"MarketType": "spot"}}
    with refused("UnauthorizedOperation", "spot-instances-request"):
        aws.launch(subnet, **spot)


def test_resources_are_those_that_aws_looks_at(aws: Aws) -> None:
    """Not the target of a route, not the source of a rule, not the target group of a listener."""
    vpc = aws.vpc()
    subnet, group, other = aws.subnet(vpc), aws.group(vpc), aws.group(vpc, "other")
    table = aws.ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    gateway = aws.ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    association = aws.ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)["AssociationId"]
    balancer, targets = aws.balancer(subnet), aws.target_group(vpc)
    aws.ec2.create_tags(Resources=[table, subnet, group], Tags=TAGS)
    aws.elbv2.add_tags(ResourceArns=[balancer], Tags=TAGS)
    aws.cloud.allow_only(_policy({"Action": ["ec2:*", "elasticloadbalancing:*"], "Condition": OURS}))
    aws.ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
    rule = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": other}]}
    aws.ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[rule])
    aws.ec2.disassociate_route_table(AssociationId=association)
    aws.listener(balancer, targets)
    with refused("AccessDenied", "targetgroup/api/"):
        aws.elbv2.delete_target_group(TargetGroupArn=targets)
    with refused("UnauthorizedOperation", other):
        aws.ec2.delete_security_group(GroupId=other)


def test_reads_of_zones_and_roles_have_resources(aws: Aws) -> None:
    zone, other = aws.cloud.add_hosted_zone("example.org"), aws.cloud.add_hosted_zone("example.net")
    aws.cloud.allow_only(
        _policy(
            {"Action": "route53:*", "Resource": f"arn:aws:route53:::hostedzone/{zone}"},
            {"Action": "iam:*", "Resource": "arn:aws:iam::123456789012:role/dev-*"},
        )
    )
    aws.route53.list_resource_record_sets(HostedZoneId=zone)
    with refused("AccessDenied", other):
        aws.route53.list_resource_record_sets(HostedZoneId=other)
    trust = json.dumps({"Statement": []})
    aws.iam.create_role(RoleName="dev-node", AssumeRolePolicyDocument=trust, Tags=TAGS)
    with refused("AccessDenied", "role/other"):
        aws.iam.get_role(RoleName="other")


def test_a_role_is_passed(aws: Aws) -> None:
    aws.iam.create_role(RoleName="node", AssumeRolePolicyDocument=json.dumps({"Statement": []}))
    aws.iam.create_instance_profile(InstanceProfileName="node")
    subnet = aws.subnet(aws.vpc())
    rest = {"Action": ["iam:AddRoleToInstanceProfile", "ec2:*"]}
    aws.cloud.allow_only(_policy(rest))
    with refused("AccessDenied", "iam:PassRole on resource: arn:aws:iam::123456789012:role/node"):
        aws.iam.add_role_to_instance_profile(InstanceProfileName="node", RoleName="node")
    passing = {"Action": "iam:PassRole", "Resource": "arn:aws:iam::*:role/node"}
    service = {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}
    aws.cloud.allow_only(_policy(rest, {**passing, "Condition": service}))
    aws.iam.add_role_to_instance_profile(InstanceProfileName="node", RoleName="node")
    aws.launch(subnet, IamInstanceProfile={"Name": "node"})
    aws.cloud.allow_only(_policy(rest))
    with refused("UnauthorizedOperation", "iam:PassRole"):
        aws.launch(subnet, IamInstanceProfile={"Name": "node"})


def test_a_policy_is_simulated(aws: Aws) -> None:
    aws.cloud.allow_only(_policy({"Action": ["ec2:Run*", "iam:Simulate*"]}))
    found = aws.iam.simulate_principal_policy(
        PolicySourceArn="arn:aws:iam::123456789012:user/talosmith", ActionNames=["ec2:RunInstances", "ec2:CreateVpc"]
    )["EvaluationResults"]
    assert [(one["EvalActionName"], one["EvalDecision"]) for one in found] == [
        ("ec2:RunInstances", "allowed"),
        ("ec2:CreateVpc", "implicitDeny"),
    ]


def test_credentials_expire_and_are_renewed(aws: Aws) -> None:
    aws.cloud.expire_credentials()
    with refused("RequestExpired"):
        aws.ec2.describe_vpcs()
    for refuse in (aws.iam.list_roles, aws.client("sts").get_caller_identity, aws.elbv2.describe_load_balancers):
        with refused("ExpiredToken"):
            refuse()
    aws.cloud.renew_credentials()
    aws.ec2.describe_vpcs()


def test_keys_that_are_not_valid(aws: Aws) -> None:
    aws.cloud.refused_keys.add(key_of("123456789012"))
    with refused("AuthFailure"):
        aws.ec2.describe_vpcs()
    with refused("InvalidClientTokenId"):
        aws.client("sts").get_caller_identity()
    aws.other("222222222222").ec2.describe_vpcs()


def test_a_clock_that_is_wrong(aws: Aws) -> None:
    right = aws.ec2.describe_vpcs()["ResponseMetadata"]["HTTPHeaders"]["date"]
    aws.cloud.skew(3600)
    with refused("SignatureDoesNotMatch", "Signature expired"):
        aws.client("sts").get_caller_identity()
    with refused("RequestExpired") as caught:
        aws.ec2.describe_vpcs()
    assert caught.value.response["ResponseMetadata"]["HTTPHeaders"]["date"] != right
