"""What cannot be deleted while something else uses it. moto deletes most of it without a word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .backends import ec2_of, elbv2_of, iam_of
from .calls import Call
from .errors import AwsError, in_use
from .hooks import before

if TYPE_CHECKING:
    from .world import Cloud


def _group(call: Call) -> Any:
    backend = ec2_of(call)
    if "GroupId" in call.params:
        return backend.get_security_group_from_id(call.params["GroupId"])
    return backend.get_security_group_from_name(call.params.get("GroupName", ""))


@before("ec2", "DeleteSecurityGroup")
def security_group(cloud: Cloud, call: Call) -> None:
    """By an interface (of an instance, a load balancer, also a deleted one), or by a rule of another group."""
    backend, group = ec2_of(call), _group(call)
    if group is None:
        return
    if group.name == "default":
        raise AwsError(
            "CannotDelete", f'the specified group: "{group.id}" name: "default" cannot be deleted by a user'
        )
    holders = [eni for eni in backend.enis.values() if group.id in {one.id for one in eni.group_set}]
    others = [one for groups in backend.groups.values() for one in groups.values() if one.id != group.id]
    rules = [rule for one in others for rule in (*one.ingress_rules, *one.egress_rules)]
    if holders or any((rule.source_group or {}).get("GroupId") == group.id for rule in rules):
        raise in_use(f"resource {group.id} has a dependent object")


@before("ec2", "DeleteSubnet")
def subnet(cloud: Cloud, call: Call) -> None:
    name = call.params["SubnetId"]
    if any(eni.subnet.id == name for eni in ec2_of(call).enis.values()):
        raise in_use(f"The subnet '{name}' has dependencies and cannot be deleted.")


@before("ec2", "DeleteVpc")
def vpc(cloud: Cloud, call: Call) -> None:
    backend, name = ec2_of(call), call.params["VpcId"]
    if name not in backend.vpcs:
        return
    holders = [
        *(one for found in backend.subnets.values() for one in found.values() if one.vpc_id == name),
        *(one for one in backend.groups.get(name, {}).values() if one.name != "default"),
        *(one for one in backend.internet_gateways.values() if one.vpc and one.vpc.id == name),
        *(one for one in backend.route_tables.values() if one.vpc_id == name and not one.main_association_id),
        *(one for one in backend.enis.values() if one.vpc_id == name),
        *(one for one in backend.nat_gateways.values() if one.vpc_id == name and one.state != "deleted"),
    ]
    if holders:
        raise in_use(f"The vpc '{name}' has dependencies and cannot be deleted.")


@before("ec2", "DetachInternetGateway")
def internet_gateway(cloud: Cloud, call: Call) -> None:
    name = call.params["VpcId"]
    if any(eni.vpc_id == name and eni.public_ip for eni in ec2_of(call).enis.values()):
        text = f"Network {name} has some mapped public address(es). Please unmap those public address(es) before"
        raise in_use(f"{text} detaching the gateway.")


@before("ec2", "AttachInternetGateway")
def second_gateway(cloud: Cloud, call: Call) -> None:
    """A VPC has one; moto lets it have several."""
    name, others = call.params["VpcId"], dict(ec2_of(call).internet_gateways)
    others.pop(call.params["InternetGatewayId"], None)
    if any(one.vpc and one.vpc.id == name for one in others.values()):
        raise AwsError("InvalidParameterValue", f"Network {name} already has an internet gateway attached")


@before("ec2", "DeleteRouteTable")
def route_table(cloud: Cloud, call: Call) -> None:
    name = call.params["RouteTableId"]
    table = ec2_of(call).route_tables.get(name)
    if table and (table.main_association_id or table._associations):
        raise in_use(f"The routeTable '{name}' has dependencies and cannot be deleted.")


@before("ec2", "ReleaseAddress")
def elastic_ip(cloud: Cloud, call: Call) -> None:
    for one in ec2_of(call).addresses:
        if one.allocation_id == call.params.get("AllocationId") and one.eni is not None:
            raise AwsError("InvalidIPAddress.InUse", f"Address {one.public_ip} is in use.")


@before("ec2", "DeleteNetworkInterface")
def network_interface(cloud: Cloud, call: Call) -> None:
    eni = ec2_of(call).enis.get(call.params["NetworkInterfaceId"])
    if eni and (eni.status == "in-use" or eni.requester_managed):
        raise AwsError("InvalidNetworkInterface.InUse", f"Network interface '{eni.id}' is currently in use.")


@before("iam", "DeleteRole")
def role(cloud: Cloud, call: Call) -> None:
    name = call.params["RoleName"]
    found = [one for one in iam_of(call).roles.values() if one.name == name]
    profiles = [one for one in iam_of(call).instance_profiles.values() if name in {role.name for role in one.roles}]
    if profiles:
        raise AwsError("DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.", 409)
    if found and found[0].managed_policies:
        raise AwsError("DeleteConflict", "Cannot delete entity, must detach all policies first.", 409)
    if found and found[0].policies:
        raise AwsError("DeleteConflict", "Cannot delete entity, must delete policies first.", 409)


@before("iam", "RemoveRoleFromInstanceProfile")
def role_is_in_profile(cloud: Cloud, call: Call) -> None:
    """moto fails where AWS says that there is no such role in it."""
    named = [one for one in iam_of(call).instance_profiles.values() if one.name == call.params["InstanceProfileName"]]
    if named and call.params["RoleName"] not in {role.name for role in named[0].roles}:
        raise AwsError("NoSuchEntity", f"The role with name {call.params['RoleName']} cannot be found.", 404)


@before("iam", "DeleteInstanceProfile")
def instance_profile(cloud: Cloud, call: Call) -> None:
    """AWS does not look for instances that have it, only for its role."""
    for one in iam_of(call).instance_profiles.values():
        if one.name == call.params["InstanceProfileName"] and one.roles:
            text = "Cannot delete entity, must remove roles from instance profile first."
            raise AwsError("DeleteConflict", text, 409)


@before("elbv2", "DeleteTargetGroup")
def target_group(cloud: Cloud, call: Call) -> None:
    name = call.params["TargetGroupArn"]
    if elbv2_of(call)._any_listener_using(name):
        text = f"Target group '{name}' is currently in use by a listener or a rule"
        raise AwsError("ResourceInUse", text)
