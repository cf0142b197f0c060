"""A request as the call of an API: which service, which action, with which parameters, of which account.

Parameters have the names and the structure that boto3 has; they are read with the service models of botocore.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from . import images  # isort: skip
from moto.core.parse import PROTOCOL_PARSERS
from moto.core.request import Request, determine_request_protocol
from moto.core.routing import get_service_router
from moto.core.utils import get_service_model
from moto.iam.models import get_account_id_from

assert images  # before moto
DEFAULT_ACCOUNT = "123456789012"
ACCOUNTS = (DEFAULT_ACCOUNT, "111111111111", "222222222222", "333333333333")
_CREDENTIAL = re.compile(r"Credential=([^/]+)/\d+/([^/]*)/([^/]+)/aws4_request")
_SERVICES = {"servicequotas": "service-quotas", "tagging": "resourcegroupstaggingapi"}
_PREFIXES = {"elbv2": "elasticloadbalancing", "elb": "elasticloadbalancing", "service-quotas": "servicequotas"}
_READS = re.compile(r"Describe|Get|List|Simulate|Search|Decode|AssumeRole|Head|TestDNSAnswer")

_loading = threading.Lock()


@dataclass
class Call:
    service: str  # as boto3 names its client: ec2, elbv2, iam, route53, sts, service-quotas, …
    action: str
    params: dict[str, Any] = field(default_factory=dict)
    region: str = ""
    account: str = DEFAULT_ACCOUNT
    key: str = ""  # the access key
    dry_run: bool = False
    error: str = ""  # the code of the error it was answered with; `cut` if there was no answer

    @property
    def mutating(self) -> bool:
        return not self.dry_run and not _READS.match(self.action)

    @property
    def iam_action(self) -> str:
        """As policies name it: `ec2:RunInstances`."""
        name = "ListAllMyBuckets" if (self.service, self.action) == ("s3", "ListBuckets") else self.action
        return f"{_PREFIXES.get(self.service, self.service)}:{name}"

    @property
    def mentioned(self) -> set[str]:
        """Every string among the values of the parameters."""
        return set(_strings(self.params))


def key_of(account: str) -> str:
    """An access key of an account; `account_of` is the other way round."""
    return f"AKIA{account}TEST"


def account_of(key: str) -> str:
    if re.fullmatch(r"AKIA\d{12}TEST", key):
        return key[4:16]
    return str(get_account_id_from(key))


def parse(environ: dict[str, Any], body: bytes) -> Call:
    """The call in a request, whose body may be read again from `environ`."""
    environ["wsgi.input"] = BytesIO(body)
    request = Request(environ)
    found = _CREDENTIAL.search(environ.get("HTTP_AUTHORIZATION", ""))
    key, region, signed = found.groups() if found else ("", "us-east-1", "s3")
    service = _SERVICES.get(signed, signed)
    form = dict(request.form) if request.content_type.startswith("application/x-www-form-urlencoded") else {}
    if service == "elasticloadbalancing":
        service = "elb" if form.get("Version") == "2012-06-01" else "elbv2"
    action = form.get("Action") or environ.get("HTTP_X_AMZ_TARGET", "").rpartition(".")[2]
    labels: dict[str, Any] = {}
    if not action:
        try:
            operation, labels = get_service_router(service).match(request)
            action = operation.name
        except Exception:  # not a call of an API
            action = f"{request.method} {request.path}"
    params = _params(service, action, request, labels)
    environ["wsgi.input"] = BytesIO(body)
    dry = form.get("DryRun", "").lower() == "true"
    return Call(service, action, params, region, account_of(key) if key else DEFAULT_ACCOUNT, key, dry)


def _params(service: str, action: str, request: Request, labels: dict[str, Any]) -> dict[str, Any]:
    try:
        with _loading:  # once, not once for each of several calls at the same time: it is slow
            model = get_service_model(service)
        operation = model.operation_model(action)
        protocol = determine_request_protocol(model, request.content_type)
        parsed = PROTOCOL_PARSERS[protocol](operation, map_type=dict).parse(
            {
                "method": request.method,
                "values": request.values,
                "headers": request.headers,
                "body": request.data,
                "url_path": request.path,
                "url_params": labels,
            }
        )
    except Exception:  # not in the service model: recorded as it came
        return dict(request.values)
    return dict(parsed)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _strings(one)
