"""Target groups and listeners: a creation that is repeated with the same settings is answered with what exists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import images  # isort: skip
from moto.elbv2.models import FakeHealthStatus, FakeTargetGroup

from .backends import elbv2_of, serialized
from .calls import Call
from .corrections import current
from .errors import Answer, AwsError
from .hooks import after, instead

if TYPE_CHECKING:
    from .world import Cloud

assert images  # before moto
_health_for = FakeTargetGroup.health_for
_SETTINGS = {"Protocol": "protocol", "Port": "port", "VpcId": "vpc_id", "TargetType": "target_type"}


@instead("elbv2", "CreateTargetGroup")
def create_target_group(cloud: Cloud, call: Call) -> Answer | None:
    for group in elbv2_of(call).target_groups.values():
        if group.name == call.params["Name"]:
            asked = {field: call.params[key] for key, field in _SETTINGS.items() if key in call.params}
            if any(str(getattr(group, field)) != str(value) for field, value in asked.items()):
                text = "A target group with the same name exists, but with different settings"
                raise AwsError("DuplicateTargetGroupName", text)
            return serialized(call, {"TargetGroups": [group]})
    return None


@instead("elbv2", "CreateListener")
def create_listener(cloud: Cloud, call: Call) -> Answer | None:
    balancer = elbv2_of(call).load_balancers.get(call.params["LoadBalancerArn"])
    for listener in balancer.listeners.values() if balancer else ():
        if int(listener.port) == int(call.params["Port"]):
            groups = [action.get("TargetGroupArn") for action in call.params["DefaultActions"]]
            if groups != [action.data.get("TargetGroupArn") for action in listener.default_actions]:
                raise AwsError("DuplicateListener", "A listener already exists on this port for this load balancer")
            return serialized(call, {"Listeners": [listener]})
    return None


@after("elbv2", "DeleteLoadBalancer", "DeleteListener", "ModifyListener", "CreateListener")
def relisted(cloud: Cloud, call: Call) -> None:
    """moto remembers for ever which load balancers have used a target group."""
    cloud.agenda.run_due()
    backend = elbv2_of(call)
    for group in backend.target_groups.values():
        group.load_balancer_arns = [
            balancer.arn for balancer in backend.load_balancers.values() if group.arn in targets_of(balancer)
        ]
    for follow in list(cloud.on_listeners):
        follow()


def targets_of(balancer: Any) -> set[str]:
    """The target groups that listeners of a load balancer forward to."""
    return {
        action.data["TargetGroupArn"]
        for listener in balancer.listeners.values()
        for action in listener.default_actions
        if "TargetGroupArn" in action.data
    }


def _deregister(self: Any, targets: list[dict[str, Any]]) -> None:
    """A target that is not registered is none that is refused."""
    for target in targets:
        if found := self.targets.pop(target["Id"], None):
            self.deregistered_targets[target["Id"]] = found


def _health(self: Any, target: dict[str, Any], ec2_backend: Any) -> Any:
    """Healthy is what listens, behind a load balancer that uses the target group."""
    found = _health_for(self, target, ec2_backend)
    if found.status != "healthy":
        return found
    instance = ec2_backend.get_instance_by_id(found.instance_id)
    address = instance.private_ip if instance else found.instance_id
    if not self.load_balancer_arns:
        status, reason = "unused", "Target.NotInUse"
        text = "Target group is not configured to receive traffic from the load balancer"
    elif not address or not current.cloud.target_listens(address, int(found.port)):
        status, reason, text = "unhealthy", "Target.FailedHealthChecks", "Health checks failed"
    else:
        return found
    return FakeHealthStatus(found.instance_id, found.port, self.health_check_port, status, reason, text)


FakeTargetGroup.health_for = _health  # type: ignore[method-assign]
FakeTargetGroup.deregister = _deregister  # type: ignore[method-assign]
