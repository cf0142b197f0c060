"""What is in the bench's simulated AWS, told so that two tools that were asked for the same can be compared.

Ids, names and tags are left out: each tool has its own. So are user data, which is a dummy on one side and a machine
config on the other, and how rules are divided into groups and routes into tables: talosmith has a group more, for its
control planes, and lets nodes in to the load balancer; it uses the VPC's main route table where OpenTofu has another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any


def made(environment: Mapping[str, str]) -> dict[str, Any]:
    ec2, iam = _client("ec2", environment), _client("iam", environment)
    own = [one["VpcId"] for one in ec2.describe_vpcs()["Vpcs"] if not one["IsDefault"]]
    there = [{"Name": "vpc-id", "Values": own or ["vpc-0"]}]
    subnets = {one["SubnetId"]: one for one in ec2.describe_subnets(Filters=there)["Subnets"]}
    roles = [one["RoleName"] for one in iam.list_roles()["Roles"]]
    return {
        "VPCs": len(own),
        "subnets": sorted(f"{one['AvailabilityZone']} {one['CidrBlock']}" for one in subnets.values()),
        "gateways": len(ec2.describe_internet_gateways()["InternetGateways"]),
        "machines": sorted(_machines(ec2)),
        "roles": sorted(_policies(iam, role) for role in roles),
        "profiles": len(iam.list_instance_profiles()["InstanceProfiles"]),
        **_balancers(_client("elbv2", environment)),
        "records": sorted(_records(_client("route53", environment))),
    }


def _machines(ec2: Any) -> list[str]:
    volumes = {one["VolumeId"]: one for one in ec2.describe_volumes()["Volumes"]}
    found = []
    for reservation in ec2.describe_instances()["Reservations"]:
        for one in reservation["Instances"]:
            root = volumes[one["BlockDeviceMappings"][0]["Ebs"]["VolumeId"]]
            disk = f"{root['Size']} GB {root['VolumeType']}{' encrypted' if root['Encrypted'] else ''}"
            where, tokens = one["Placement"]["AvailabilityZone"], one["MetadataOptions"]["HttpTokens"]
            found.append(f"{one['InstanceType']} in {where}, {disk}, tokens {tokens}, {one['State']['Name']}")
    return found


def _policies(iam: Any, role: str) -> str:
    attached = iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]
    return ", ".join(sorted(one["PolicyName"] for one in attached))


def _balancers(elbv2: Any) -> dict[str, Any]:
    groups = elbv2.describe_target_groups()["TargetGroups"]
    balancers = elbv2.describe_load_balancers()["LoadBalancers"]
    targets: Counter[str] = Counter()
    for group in groups:
        healths = elbv2.describe_target_health(TargetGroupArn=group["TargetGroupArn"])["TargetHealthDescriptions"]
        targets[f"{group['Protocol']} {group['Port']}, {len(healths)} targets"] += 1
    return {
        "balancers": sorted(f"{one['Type']} {one['Scheme']}" for one in balancers),
        "target groups": dict(sorted(targets.items())),
    }


def _records(route53: Any) -> list[str]:
    return [
        f"{record['Type']} {record['Name']}"
        for zone in route53.list_hosted_zones()["HostedZones"]
        for record in route53.list_resource_record_sets(HostedZoneId=zone["Id"])["ResourceRecordSets"]
        if "AliasTarget" in record
    ]


def _client(service: str, environment: Mapping[str, str]) -> Any:
    import boto3  # of the extra `aws`

    return boto3.client(
        service,
        endpoint_url=environment["AWS_ENDPOINT_URL"],
        region_name=environment["AWS_REGION"],
        aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
    )
