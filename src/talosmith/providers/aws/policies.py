"""What the machines themselves may do in AWS: policies of their roles, by the short names that the inventory has."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

Document = Mapping[str, Any]

_MANAGED = {
    "ecr-read-only": "AmazonEC2ContainerRegistryReadOnly",
    "ebs-csi": "service-role/AmazonEBSCSIDriverPolicy",
}
_VERSION = "2012-10-17"

TRUST: Document = {
    "Version": _VERSION,
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}

# What the AWS cloud controller manager calls: nodes and zones, routes, and load balancers for Services.
_CONTROLLER = (
    "autoscaling:DescribeAutoScalingGroups", "autoscaling:DescribeLaunchConfigurations", "autoscaling:DescribeTags",
    "ec2:AttachVolume", "ec2:AuthorizeSecurityGroupIngress", "ec2:CreateRoute", "ec2:CreateSecurityGroup",
    "ec2:CreateTags", "ec2:CreateVolume", "ec2:DeleteRoute", "ec2:DeleteSecurityGroup", "ec2:DeleteVolume",
    "ec2:DescribeAvailabilityZones", "ec2:DescribeInstanceTopology", "ec2:DescribeInstances", "ec2:DescribeRegions",
    "ec2:DescribeRouteTables", "ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVolumes",
    "ec2:DescribeVpcs", "ec2:DetachVolume", "ec2:ModifyInstanceAttribute", "ec2:ModifyVolume",
    "ec2:RevokeSecurityGroupIngress", "elasticloadbalancing:AddTags",
    "elasticloadbalancing:ApplySecurityGroupsToLoadBalancer", "elasticloadbalancing:AttachLoadBalancerToSubnets",
    "elasticloadbalancing:ConfigureHealthCheck", "elasticloadbalancing:CreateListener",
    "elasticloadbalancing:CreateLoadBalancer", "elasticloadbalancing:CreateLoadBalancerListeners",
    "elasticloadbalancing:CreateLoadBalancerPolicy", "elasticloadbalancing:CreateTargetGroup",
    "elasticloadbalancing:DeleteListener", "elasticloadbalancing:DeleteLoadBalancer",
    "elasticloadbalancing:DeleteLoadBalancerListeners", "elasticloadbalancing:DeleteTargetGroup",
    "elasticloadbalancing:DeregisterInstancesFromLoadBalancer", "elasticloadbalancing:DeregisterTargets",
    "elasticloadbalancing:DescribeListeners", "elasticloadbalancing:DescribeLoadBalancerAttributes",
    "elasticloadbalancing:DescribeLoadBalancerPolicies", "elasticloadbalancing:DescribeLoadBalancers",
    "elasticloadbalancing:DescribeTargetGroups", "elasticloadbalancing:DescribeTargetHealth",
    "elasticloadbalancing:DetachLoadBalancerFromSubnets", "elasticloadbalancing:ModifyListener",
    "elasticloadbalancing:ModifyLoadBalancerAttributes", "elasticloadbalancing:ModifyTargetGroup",
    "elasticloadbalancing:RegisterInstancesWithLoadBalancer", "elasticloadbalancing:RegisterTargets",
    "elasticloadbalancing:SetLoadBalancerPoliciesForBackendServer",
    "elasticloadbalancing:SetLoadBalancerPoliciesOfListener", "iam:CreateServiceLinkedRole", "kms:DescribeKey",
)  # fmt: skip
_WORKER = ("ec2:DescribeInstances", "ec2:DescribeInstanceTopology", "ec2:DescribeRegions")


def partition(region: str) -> str:
    """The part of all ARNs of a region."""
    return {"cn": "aws-cn", "us-gov": "aws-us-gov"}.get(region.rsplit("-", 2)[0], "aws")


def managed(name: str, region: str) -> str:
    """The ARN of a policy by its short name; an ARN is returned as it is."""
    return f"arn:{partition(region)}:iam::aws:policy/{_MANAGED[name]}" if name in _MANAGED else name


def document_of(name: str, group: str) -> Document:
    """A policy that AWS does not have and talosmith creates; empty for all others."""
    if name != "cloud-controller":
        return {}
    actions = _CONTROLLER if group == "controlplane" else _WORKER
    return {"Version": _VERSION, "Statement": [{"Effect": "Allow", "Action": [*actions], "Resource": "*"}]}


def fingerprint(document: Document) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:12]
