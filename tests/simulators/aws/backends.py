"""moto's state behind a call, and an answer in the form of the call's service from plain values or moto's objects."""

from __future__ import annotations

from typing import Any

from . import images  # isort: skip
from moto.core.serialize import XFormedAttributePicker, get_serializer_class
from moto.core.utils import get_service_model
from moto.ec2.models import ec2_backends
from moto.ec2.responses._base_response import EC2BaseResponse
from moto.elbv2.models import elbv2_backends
from moto.iam.models import iam_backends
from moto.route53.models import route53_backends

from .calls import Call
from .errors import Answer

assert images  # before moto
PARTITION = "aws"


def ec2_of(call: Call) -> Any:
    return ec2_backends[call.account][call.region]


def elbv2_of(call: Call) -> Any:
    return elbv2_backends[call.account][call.region]


def iam_of(call: Call) -> Any:
    return iam_backends[call.account][PARTITION]


def route53_of(call: Call) -> Any:
    return route53_backends[call.account][PARTITION]


def instance_of(call: Call, instance: str) -> Any:
    """An instance by id, or nothing."""
    return ec2_of(call).get_instance_by_id(instance)


def serialized(call: Call, result: object) -> Answer:
    """What moto would answer with this result."""
    model = get_service_model(call.service)
    protocol = model.metadata["protocol"]
    made = get_serializer_class(model.service_name, protocol)(
        operation_model=model.operation_model(call.action),
        pretty_print=False,
        value_picker=XFormedAttributePicker(response_transformers=EC2BaseResponse.RESPONSE_KEY_PATH_TO_TRANSFORMER),
    ).serialize(result)
    body = made["body"]
    return Answer(made["status_code"], body.encode() if isinstance(body, str) else body, dict(made["headers"]))
