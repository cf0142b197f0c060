"""Settings of inventories of AWS whose IAM policies tests look at, and a policy as the simulated AWS judges it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from talosmith.model.providers import Aws
from talosmith.providers.aws.settings import AwsSettings
from tests.unit.providers.aws.aws_harness import BOTH, OWNER, ZONES

EXISTING: dict[str, Any] = {
    "vpc_id": "vpc-0123456789abcdef0",
    "subnets": {
        "eu-central-1a": {"id": "subnet-0123456789abcdef0", "cidr": "10.0.0.0/20"},
        "eu-central-1b": {"id": "subnet-0123456789abcdef1", "cidr": "10.0.16.0/20"},
    },
}
LARGEST: dict[str, Any] = {
    "private": True, "nat_gateways": "each-az", "spot": True, "kms_key": "alias/talos", "account_id": "123456789012",
    "iam": ["cloud-controller", "ebs-csi", "ecr-read-only", "arn:aws:iam::123456789012:policy/mine"],
}  # fmt: skip


def settings(record: str = "k8s.sandbox.example.org", **options: Any) -> AwsSettings:
    section = {"region": "eu-central-1", "azs": [*ZONES], **options}
    return AwsSettings(section=Aws.model_validate(section), owner=OWNER, specs=BOTH, record=record)


def for_simulator(document: Mapping[str, Any]) -> dict[str, Any]:
    """The simulator knows neither which policy is attached to a role nor the instance of a profile's association."""
    found: dict[str, Any] = json.loads(json.dumps(document))
    for one in found["Statement"]:
        if one["Sid"] == "Attach":
            del one["Condition"]
    of_association = ["ec2:DisassociateIamInstanceProfile", "ec2:ReplaceIamInstanceProfileAssociation"]
    found["Statement"].append({"Sid": "X", "Effect": "Allow", "Action": of_association, "Resource": "*"})
    return found
