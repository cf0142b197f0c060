"""Client tokens: a call that is repeated with its token has no second effect."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .backends import ec2_of, serialized
from .calls import Call
from .errors import Answer, AwsError

if TYPE_CHECKING:
    from .world import Cloud


@dataclass(frozen=True)
class Token:
    params: str
    answer: Answer
    instances: tuple[str, ...]  # of RunInstances


def repeated(cloud: Cloud, call: Call) -> Answer | None:
    """What a call was answered when it came first with its token: the reservation as it is now, or the same words."""
    token = cloud.tokens.get(_key(call))
    if token is None:
        return None
    if token.params != _params(call):
        text = (
            "The request uses the same client token as a previous, but non-identical request. Do not reuse a client"
            " token with different requests, unless the requests are identical"
        )
        raise AwsError("IdempotentParameterMismatch", text)
    if call.action != "RunInstances":
        return token.answer
    found = [_reservation(call, instance) for instance in token.instances]
    states = {instance.state for one in found for instance in one.instances if instance.id in token.instances}
    if states <= {"terminated"}:
        text = "The specified client token is associated with an instance that is terminated"
        raise AwsError("IdempotentInstanceTerminated", text)
    return serialized(call, found[0])


def remember(cloud: Cloud, call: Call, answer: Answer) -> None:
    """After a call that had an effect."""
    if not _key(call)[-1] or _key(call) in cloud.tokens:
        return
    instances: tuple[str, ...] = ()
    if call.action == "RunInstances":
        reservation = list(ec2_of(call).reservations.values())[-1]
        instances = tuple(instance.id for instance in reservation.instances)
    cloud.tokens[_key(call)] = Token(_params(call), answer, instances)


def _key(call: Call) -> tuple[str, str, str, str]:
    token = call.params.get("ClientToken", "") if call.service == "ec2" and call.mutating else ""
    return (call.account, call.region, call.action, str(token))


def _params(call: Call) -> str:
    return json.dumps(call.params, sort_keys=True, default=str)


def _reservation(call: Call, instance: str) -> Any:
    for reservation in ec2_of(call).reservations.values():
        if any(one.id == instance for one in reservation.instances):
            return reservation
    raise KeyError(instance)
