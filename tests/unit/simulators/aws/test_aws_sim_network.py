"""What the simulated AWS does not delete while it is in use, and its load balancers."""

from __future__ import annotations

import json

import pytest

from tests.unit.simulators.aws.aws_clients import Aws, refused

pytestmark = pytest.mark.slow  # moto takes seconds to import


@pytest.fixture
def vpc(aws: Aws) -> str:
    return aws.vpc()


@pytest.fixture
def subnet(aws: Aws, vpc: str) -> str:
    return aws.subnet(vpc)


def _state(aws: Aws) -> str:
    return str(aws.elbv2.describe_load_balancers()["LoadBalancers"][0]["State"]["Code"])


def test_a_group_of_an_instance_or_a_rule_is_in_use(aws: Aws, vpc: str, subnet: str) -> None:
    nodes, other = aws.group(vpc), aws.group(vpc, "other")
    rule = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": nodes}]}
    aws.ec2.authorize_security_group_ingress(GroupId=nodes, IpPermissions=[rule])
    aws.ec2.authorize_security_group_ingress(GroupId=other, IpPermissions=[rule])
    with refused("DependencyViolation", f"resource {nodes} has a dependent object"):
        aws.ec2.delete_security_group(GroupId=nodes)
    aws.ec2.revoke_security_group_ingress(GroupId=other, IpPermissions=[rule])
    instance = aws.launch(subnet, SecurityGroupIds=[nodes])
    with refused("DependencyViolation"):
        aws.ec2.delete_security_group(GroupId=nodes)
    aws.ec2.terminate_instances(InstanceIds=[instance])
    aws.ec2.delete_security_group(GroupId=nodes)
    rules = aws.ec2.describe_security_group_rules(Filters=[{"Name": "group-id", "Values": [other]}])
    assert [one["IsEgress"] for one in rules["SecurityGroupRules"]] == [True]


def test_a_default_group_is_not_deleted(aws: Aws, vpc: str) -> None:
    found = aws.ec2.describe_security_groups(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["SecurityGroups"]
    with refused("CannotDelete"):
        aws.ec2.delete_security_group(GroupId=found[0]["GroupId"])


def test_a_subnet_and_a_vpc_are_in_use(aws: Aws, vpc: str, subnet: str) -> None:
    instance = aws.launch(subnet)
    group = aws.group(vpc)
    gateway = aws.ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    aws.ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    table = aws.ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    used = aws.ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)["AssociationId"]
    steps = [
        ("delete_subnet", {"SubnetId": subnet}, lambda: aws.ec2.terminate_instances(InstanceIds=[instance])),
        ("delete_route_table", {"RouteTableId": table}, lambda: aws.ec2.disassociate_route_table(AssociationId=used)),
        ("delete_internet_gateway", {"InternetGatewayId": gateway},
         lambda: aws.ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)),
        ("delete_security_group", {"GroupId": group}, lambda: None),
    ]  # fmt: skip
    for name, params, release in steps:
        with refused("DependencyViolation"):
            aws.ec2.delete_vpc(VpcId=vpc)
        if name != "delete_security_group":
            with refused("DependencyViolation"):
                getattr(aws.ec2, name)(**params)
        release()
        getattr(aws.ec2, name)(**params)
    aws.ec2.delete_vpc(VpcId=vpc)


def test_an_internet_gateway_stays_while_public_addresses_are_mapped(aws: Aws, vpc: str, subnet: str) -> None:
    gateway = aws.ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    aws.ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    address = aws.ec2.allocate_address(Domain="vpc")["AllocationId"]
    nat = aws.ec2.create_nat_gateway(SubnetId=subnet, AllocationId=address)["NatGateway"]
    assert nat["NatGatewayAddresses"][0]["PrivateIp"] == "127.201.7.14"
    with refused("DependencyViolation", "mapped public address"):
        aws.ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    with refused("InvalidIPAddress.InUse"):
        aws.ec2.release_address(AllocationId=address)
    aws.ec2.delete_nat_gateway(NatGatewayId=nat["NatGatewayId"])
    aws.ec2.release_address(AllocationId=address)
    aws.ec2.detach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    aws.ec2.delete_subnet(SubnetId=subnet)


def test_roles_and_profiles_are_in_use(aws: Aws) -> None:
    statement = {"Effect": "Allow", "Action": "ec2:DescribeInstances", "Resource": "*"}
    trust = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    aws.iam.create_role(RoleName="node", AssumeRolePolicyDocument=trust)
    tags = [{"Key": "talosmith-cluster", "Value": "dev"}]
    aws.iam.create_instance_profile(InstanceProfileName="node", Tags=tags)
    assert aws.iam.list_instance_profile_tags(InstanceProfileName="node")["Tags"] == tags
    aws.iam.add_role_to_instance_profile(InstanceProfileName="node", RoleName="node")
    aws.iam.put_role_policy(RoleName="node", PolicyName="p", PolicyDocument=trust)
    with refused("DeleteConflict"):
        aws.iam.delete_instance_profile(InstanceProfileName="node")
    with refused("DeleteConflict"):
        aws.iam.delete_role(RoleName="node")
    aws.iam.remove_role_from_instance_profile(InstanceProfileName="node", RoleName="node")
    with refused("DeleteConflict", "policies"):
        aws.iam.delete_role(RoleName="node")
    aws.iam.delete_role_policy(RoleName="node", PolicyName="p")
    aws.iam.delete_role(RoleName="node")
    aws.iam.delete_instance_profile(InstanceProfileName="node")


def test_a_load_balancer_has_interfaces_that_linger(aws: Aws, vpc: str, subnet: str) -> None:
    aws.cloud.linger = 60
    group = aws.group(vpc)
    arn = aws.balancer(subnet, SecurityGroups=[group])
    listed = [{"Name": "description", "Values": ["ELB net/api/*"]}]
    (eni,) = aws.ec2.describe_network_interfaces(Filters=listed)["NetworkInterfaces"]
    assert eni["Description"] == f"ELB {arn.partition('loadbalancer/')[2]}" and eni["RequesterManaged"]
    assert [one["GroupId"] for one in eni["Groups"]] == [group]
    aws.elbv2.delete_load_balancer(LoadBalancerArn=arn)
    for seconds in (0, 59):
        aws.cloud.pass_time(seconds)
        with refused("DependencyViolation"):
            aws.ec2.delete_security_group(GroupId=group)
        with refused("DependencyViolation"):
            aws.ec2.delete_subnet(SubnetId=subnet)
        assert aws.ec2.describe_network_interfaces(Filters=listed)["NetworkInterfaces"]
    aws.cloud.pass_time(2)
    aws.ec2.delete_security_group(GroupId=group)
    aws.ec2.delete_subnet(SubnetId=subnet)
    assert not aws.ec2.describe_network_interfaces()["NetworkInterfaces"]


def test_a_load_balancer_is_provisioned_and_regrouped(aws: Aws, vpc: str, subnet: str) -> None:
    aws.cloud.balancer_takes = 120
    first, second = aws.group(vpc), aws.group(vpc, "second")
    arn = aws.balancer(subnet, SecurityGroups=[first])
    assert ":loadbalancer/net/api/" in arn and aws.balancer(subnet, SecurityGroups=[first]) == arn
    with refused("DuplicateLoadBalancerName"):
        aws.balancer(subnet)
    assert _state(aws) == "provisioning"
    aws.cloud.pass_time(121)
    assert _state(aws) == "active"
    aws.elbv2.set_security_groups(LoadBalancerArn=arn, SecurityGroups=[second])
    aws.ec2.delete_security_group(GroupId=first)
    (found,) = aws.elbv2.describe_load_balancers(Names=["api"])["LoadBalancers"]
    assert found["SecurityGroups"] == [second]
    assert found["DNSName"].endswith(".elb.eu-central-1.amazonaws.com")
    assert found["CanonicalHostedZoneId"] == "Z3F0SRJ5LGBH90"
    with refused("LoadBalancerNotFound"):
        aws.elbv2.describe_load_balancers(Names=["absent"])


def test_targets_are_healthy_if_they_listen(aws: Aws, vpc: str, subnet: str) -> None:
    group, balancer = aws.target_group(vpc), aws.balancer(subnet)
    instance = aws.launch(subnet, PrivateIpAddress="127.201.7.10")
    aws.elbv2.register_targets(TargetGroupArn=group, Targets=[{"Id": instance}])
    asked: list[tuple[str, int]] = []

    def states() -> list[str]:
        found = aws.elbv2.describe_target_health(TargetGroupArn=group)["TargetHealthDescriptions"]
        return [one["TargetHealth"]["State"] for one in found]

    assert states() == ["unused"]
    listener = aws.listener(balancer, group)
    assert states() == ["healthy"]
    aws.cloud.target_listens = lambda *target: bool(asked.append(target))
    assert states() == ["unhealthy"] and asked == [("127.201.7.10", 6443)]
    with refused("ResourceInUse"):
        aws.elbv2.delete_target_group(TargetGroupArn=group)
    aws.elbv2.delete_listener(ListenerArn=listener)
    assert states() == ["unused"]
    aws.ec2.terminate_instances(InstanceIds=[instance])
    assert states() == []
    aws.elbv2.delete_target_group(TargetGroupArn=group)


def test_attributes_of_target_groups_and_load_balancers(aws: Aws, vpc: str, subnet: str) -> None:
    group, balancer = aws.target_group(vpc), aws.balancer(subnet)
    wanted = {
        "preserve_client_ip.enabled": "false",
        "deregistration_delay.timeout_seconds": "0",
        "load_balancing.cross_zone.enabled": "true",
    }
    attributes = [{"Key": key, "Value": value} for key, value in wanted.items()]
    aws.elbv2.modify_target_group_attributes(TargetGroupArn=group, Attributes=attributes)
    found = aws.elbv2.describe_target_group_attributes(TargetGroupArn=group)["Attributes"]
    assert wanted.items() <= {one["Key"]: one["Value"] for one in found}.items()
    protected = [{"Key": "deletion_protection.enabled", "Value": "true"}, attributes[2]]
    aws.elbv2.modify_load_balancer_attributes(LoadBalancerArn=balancer, Attributes=protected)
    with refused("OperationNotPermitted"):
        aws.elbv2.delete_load_balancer(LoadBalancerArn=balancer)


def test_quotas_are_told_and_kept(aws: Aws) -> None:
    quotas = aws.client("service-quotas")
    assert quotas.get_service_quota(ServiceCode="vpc", QuotaCode="L-F678F1CE")["Quota"]["Value"] == 5
    codes = {one["QuotaCode"] for one in quotas.list_service_quotas(ServiceCode="ec2")["Quotas"]}
    assert codes == {"L-1216C47A", "L-34B43A08", "L-0263D0A3"}
    with refused("NoSuchResourceException"):
        quotas.get_service_quota(ServiceCode="vpc", QuotaCode="L-00000000")
    for number in range(4):
        aws.vpc(f"10.{number}.0.0/16")
    with refused("VpcLimitExceeded"):
        aws.vpc("10.9.0.0/16")


def test_target_groups_and_listeners_are_created_once(aws: Aws, vpc: str, subnet: str) -> None:
    group, balancer = aws.target_group(vpc), aws.balancer(subnet)
    assert aws.target_group(vpc) == group
    with refused("DuplicateTargetGroupName"):
        aws.target_group(vpc, port=6444)
    listener = aws.listener(balancer, group)
    assert aws.listener(balancer, group) == listener
    with refused("DuplicateListener"):
        aws.listener(balancer, aws.target_group(vpc, "other"))
    aws.elbv2.deregister_targets(TargetGroupArn=group, Targets=[{"Id": "i-0123456789abcdef0"}])


def test_a_load_balancer_gets_other_subnets(aws: Aws, vpc: str, subnet: str) -> None:
    balancer, second = aws.balancer(subnet), aws.subnet(vpc, "127.201.7.16/28", "b")
    aws.elbv2.set_subnets(LoadBalancerArn=balancer, Subnets=[second])
    aws.ec2.delete_subnet(SubnetId=subnet)
    with refused("DependencyViolation"):
        aws.ec2.delete_subnet(SubnetId=second)


def test_a_vpc_has_one_internet_gateway(aws: Aws, vpc: str) -> None:
    first, second = (aws.ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"] for _ in range(2))
    aws.ec2.attach_internet_gateway(InternetGatewayId=first, VpcId=vpc)
    with refused("InvalidParameterValue", "already has an internet gateway attached"):
        aws.ec2.attach_internet_gateway(InternetGatewayId=second, VpcId=vpc)
