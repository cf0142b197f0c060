"""Load balancers have interfaces in their subnets, need time to become active, and leave interfaces for a while.

moto's load balancers are names only: without interfaces nothing would keep a security group or a subnet in use.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from . import images  # isort: skip
from moto.ec2.utils import random_public_ip
from moto.elbv2.models import AvailabilityZone, FakeLoadBalancer

from .backends import ec2_of, elbv2_of, serialized
from .calls import Call
from .corrections import current, last_address
from .errors import Answer, AwsError
from .hooks import after, before, instead

if TYPE_CHECKING:
    from .world import Cloud

assert images  # before moto
ZONES = {"eu-central-1": "Z3F0SRJ5LGBH90", "eu-west-1": "Z2IFOLAFXWLO4F", "us-east-1": "Z26RNL4JYFTOTI"}


def description(balancer: Any) -> str:
    """Of its interfaces: `ELB net/<name>/<id>`."""
    return "ELB " + balancer.arn.partition("loadbalancer/")[2].replace("app/", "net/", 1)


@instead("elbv2", "CreateLoadBalancer")
def create(cloud: Cloud, call: Call) -> Answer | None:
    """moto creates a second one of the same name; AWS answers with the first, if it has the same settings."""
    for balancer in elbv2_of(call).load_balancers.values():
        if balancer.name == call.params["Name"]:
            same = _subnets(call) == {one.id for one in balancer.subnets}
            same &= set(call.params.get("SecurityGroups", ())) == set(balancer.security_groups or ())
            same &= call.params.get("Scheme", "internet-facing") == balancer.scheme
            if not same:
                text = "A load balancer with the same name already exists, but with different settings"
                raise AwsError("DuplicateLoadBalancerName", text)
            return serialized(call, {"LoadBalancers": [balancer]})
    taken = cloud.quotas["elasticloadbalancing", "L-69A177A2"]
    if len(elbv2_of(call).load_balancers) >= taken:
        raise AwsError("TooManyLoadBalancers", "The maximum number of load balancers has been reached")
    for group in call.params.get("SecurityGroups", ()):
        if ec2_of(call).get_security_group_from_id(group) is None:
            raise AwsError("InvalidSecurityGroup", f"Security group '{group}' does not exist")
    known = {name for found in ec2_of(call).subnets.values() for name in found}
    missing = _subnets(call) - known
    if missing or not _subnets(call):
        raise AwsError("SubnetNotFound", f"The subnet ID '{', '.join(sorted(missing))}' does not exist")
    balancer = elbv2_of(call).create_load_balancer(
        name=call.params["Name"],
        security_groups=list(call.params.get("SecurityGroups", ())),
        subnet_ids=list(call.params.get("Subnets", ())),
        subnet_mappings=list(call.params.get("SubnetMappings", ())),
        scheme=call.params.get("Scheme", "internet-facing"),
        loadbalancer_type=call.params.get("Type", "application"),
        ip_address_type=call.params.get("IpAddressType", "ipv4"),
        tags=call.params.get("Tags", []),
    )
    _complete(cloud, call, balancer)
    return serialized(call, {"LoadBalancers": [balancer]})


def _subnets(call: Call) -> set[str]:
    mapped = {one["SubnetId"] for one in call.params.get("SubnetMappings", ())}
    return mapped | set(call.params.get("Subnets", ()))


def _complete(cloud: Cloud, call: Call, balancer: Any) -> None:
    number = balancer.arn.rpartition("/")[2]
    if balancer.type == "network":
        _rename(call, balancer)
        balancer.dns_name = f"{balancer.name}-{number}.elb.{call.region}.amazonaws.com"
    balancer.canonical_hosted_zone_id = ZONES.get(call.region, balancer.canonical_hosted_zone_id)
    balancer.active_at = cloud.clock.now() + cloud.balancer_takes
    for subnet in balancer.subnets:
        _connect(call, balancer, subnet)


def _connect(call: Call, balancer: Any, subnet: Any) -> None:
    eni = ec2_of(call).create_network_interface(
        subnet,
        last_address(subnet),
        group_ids=list(balancer.security_groups or ()),
        description=description(balancer),
    )
    if not balancer.security_groups:
        eni._group_set = []
    eni.requester_managed, eni.requester_id = True, "amazon-elb"
    eni.interface_type, eni.status = "network_load_balancer", "in-use"
    if balancer.scheme == "internet-facing":
        eni.public_ip = random_public_ip()


@instead("elbv2", "SetSubnets")
def set_subnets(cloud: Cloud, call: Call) -> Answer | None:
    """A Network Load Balancer may have one only."""
    backend, balancer = ec2_of(call), elbv2_of(call).load_balancers.get(call.params["LoadBalancerArn"])
    if balancer is None or balancer.type != "network":
        return None
    known = {one.id: one for found in backend.subnets.values() for one in found.values()}
    if missing := _subnets(call) - set(known):
        raise AwsError("SubnetNotFound", f"The subnet ID '{', '.join(sorted(missing))}' does not exist")
    served = {eni.subnet.id: eni for eni in interfaces(backend, balancer)}
    for name in set(served) - _subnets(call):
        del backend.enis[served[name].id]
    for name in _subnets(call) - set(served):
        _connect(call, balancer, known[name])
    balancer.subnets = [known[name] for name in sorted(_subnets(call))]
    return serialized(call, {"AvailabilityZones": [AvailabilityZone(one) for one in balancer.subnets]})


def _rename(call: Call, balancer: Any) -> None:
    """moto's ARN of a Network Load Balancer says `app`."""
    backend, before_ = elbv2_of(call), balancer.arn
    balancer.arn = before_.replace("loadbalancer/app/", "loadbalancer/net/")
    if balancer.arn != before_:
        tags = backend.tagging_service.get_tag_dict_for_resource(before_)
        backend.tagging_service.delete_all_tags_for_resource(before_)
        backend.tagging_service.tag_resource(balancer.arn, [{"Key": k, "Value": v} for k, v in tags.items()])
        backend.load_balancers[balancer.arn] = backend.load_balancers.pop(before_)


def interfaces(backend: Any, balancer: Any) -> list[Any]:
    return [eni for eni in backend.enis.values() if eni.description == description(balancer)]


@before("elbv2", "DeleteLoadBalancer")
def delete(cloud: Cloud, call: Call) -> None:
    """The interfaces go later than the load balancer does."""
    balancer = elbv2_of(call).load_balancers.get(call.params["LoadBalancerArn"])
    if balancer is None:
        return
    if balancer.attrs.get("deletion_protection.enabled") == "true":
        text = f"Load balancer '{balancer.arn}' cannot be deleted because deletion protection is enabled"
        raise AwsError("OperationNotPermitted", text)
    enis = ec2_of(call).enis
    for eni in interfaces(ec2_of(call), balancer):
        cloud.agenda.after(cloud.linger, partial(enis.pop, eni.id, None))


@after("elbv2", "SetSecurityGroups")
def regrouped(cloud: Cloud, call: Call) -> None:
    backend = ec2_of(call)
    balancer = elbv2_of(call).load_balancers[call.params["LoadBalancerArn"]]
    groups = [backend.get_security_group_from_id(one) for one in balancer.security_groups]
    for eni in interfaces(backend, balancer):
        eni._group_set = groups


@before("elbv2", "SetSecurityGroups")
def ungrouped(cloud: Cloud, call: Call) -> None:
    balancer = elbv2_of(call).load_balancers.get(call.params["LoadBalancerArn"])
    if balancer and balancer.type == "network" and not balancer.security_groups:
        text = "You cannot add security groups to a Network Load Balancer that was created without security groups"
        raise AwsError("InvalidConfigurationRequest", text)


def _activate(self: Any) -> None:
    if self.state == "provisioning" and current.cloud.clock.now() >= getattr(self, "active_at", 0.0):
        self.state = "active"


FakeLoadBalancer.activate = _activate  # type: ignore[method-assign]
