"""Every action of the provider's calls, by the part of an inventory that needs it, with the kinds of resources on
which AWS judges a call of it.

A call with several resources has to be allowed on each of them: an instance is launched into a subnet.
"""

from __future__ import annotations

Kinds = tuple[str, ...]
OPTIONAL = frozenset({"iam:GetRole"})  # a check does without
CHECKS = frozenset(  # asked before anything is created, and not needed to create it
    {
        "ec2:DescribeAvailabilityZones", "ec2:DescribeInstanceTypeOfferings", "ec2:DescribeInstanceTypes",
        "iam:SimulatePrincipalPolicy", "route53:GetHostedZone", "servicequotas:GetServiceQuota",
    }
)  # fmt: skip
WITHOUT_POLICY = frozenset({"sts:GetCallerIdentity"})  # every identity may
# Patterns for policies that would be too long. None reaches secrets, as ec2:DescribeInstanceAttribute would.
SHORT = (
    "ec2:DescribeInstanceType*", "ec2:DescribeVpc*", "ec2:*SecurityGroup*gress", "ec2:*IamInstanceProfile*",
    "ec2:*InternetGateway", "ec2:*RouteTable", "ec2:*Route", "elasticloadbalancing:Describe*", "iam:*InstanceProfile",
    "iam:*PolicyVersion", "elasticloadbalancing:*Targets", "elasticloadbalancing:*Listener", "iam:*RolePolic*",
    "kms:ReEncrypt*",
)  # fmt: skip

# What a call reads: no resource can be named for most of them.
READS = (
    "ec2:DescribeAccountAttributes",  # asked by the load balancer service on behalf of the caller
    "ec2:DescribeAddresses", "ec2:DescribeAvailabilityZones", "ec2:DescribeIamInstanceProfileAssociations",
    "ec2:DescribeImages", "ec2:DescribeInstanceTypeOfferings", "ec2:DescribeInstanceTypes", "ec2:DescribeInstances",
    "ec2:DescribeInternetGateways", "ec2:DescribeNetworkInterfaces", "ec2:DescribeRouteTables",
    "ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVolumes", "ec2:DescribeVpcAttribute",
    "ec2:DescribeVpcEndpoints", "ec2:DescribeVpcs",
    "elasticloadbalancing:DescribeListeners", "elasticloadbalancing:DescribeLoadBalancers",
    "elasticloadbalancing:DescribeTags", "elasticloadbalancing:DescribeTargetGroupAttributes",
    "elasticloadbalancing:DescribeTargetGroups", "elasticloadbalancing:DescribeTargetHealth",
    "iam:ListInstanceProfiles", "iam:ListPolicies", "iam:SimulatePrincipalPolicy", "servicequotas:GetServiceQuota",
)  # fmt: skip
READS_NAT = ("ec2:DescribeNatGateways",)
READS_RECORD = ("route53:GetHostedZone", "route53:ListHostedZones", "route53:ListResourceRecordSets")

# What a call of EC2 creates, and what has to exist for it, by the part of the inventory that wants it.
MACHINES: dict[str, Kinds] = {
    "RunInstances": ("instance", "network-interface", "volume"),
    "CreateVolume": ("volume",),
}
MACHINES_CHANGE: dict[str, Kinds] = {
    **dict.fromkeys(
        (
            "AssociateIamInstanceProfile", "DisassociateIamInstanceProfile", "ModifyInstanceAttribute",
            "ModifyInstanceMetadataOptions", "ReplaceIamInstanceProfileAssociation", "StartInstances",
            "StopInstances", "TerminateInstances",
        ),
        ("instance",),
    ),
    "AttachVolume": ("instance", "volume"),
    "ModifyVolume": ("volume",),
    "CreateTags": ("instance",),
}  # fmt: skip
GROUPS: dict[str, Kinds] = {"CreateSecurityGroup": ("security-group",)}
GROUPS_CHANGE: dict[str, Kinds] = dict.fromkeys(
    (
        "AuthorizeSecurityGroupEgress", "AuthorizeSecurityGroupIngress", "CreateTags", "DeleteSecurityGroup",
        "RevokeSecurityGroupEgress", "RevokeSecurityGroupIngress", "RunInstances",
    ),
    ("security-group",),
)  # fmt: skip
VPC: dict[str, Kinds] = {"CreateVpc": ("vpc",), "CreateInternetGateway": ("internet-gateway",)}
VPC_CHANGE: dict[str, Kinds] = {
    "AttachInternetGateway": ("internet-gateway", "vpc"),
    "DetachInternetGateway": ("internet-gateway", "vpc"),
    "DeleteInternetGateway": ("internet-gateway",),
    "DeleteVpc": ("vpc",),
    "ModifyVpcAttribute": ("vpc",),
    "CreateTags": ("internet-gateway", "vpc"),
}
MAIN_TABLE: dict[str, Kinds] = {"DeleteRoute": ("route-table",), "DeleteTags": ("route-table",)}
SUBNETS: dict[str, Kinds] = {"CreateSubnet": ("subnet",)}
SUBNETS_CHANGE: dict[str, Kinds] = {
    **dict.fromkeys(("DeleteSubnet", "ModifySubnetAttribute", "RunInstances"), ("subnet",)),
    **dict.fromkeys(("CreateRoute", "ReplaceRoute"), ("route-table",)),
    "CreateTags": ("route-table", "subnet"),
}
TABLES: dict[str, Kinds] = {"CreateRouteTable": ("route-table",)}
TABLES_CHANGE: dict[str, Kinds] = {
    **dict.fromkeys(("AssociateRouteTable", "DisassociateRouteTable"), ("route-table", "subnet")),
    "DeleteRouteTable": ("route-table",),
}
NAT: dict[str, Kinds] = {"CreateNatGateway": ("natgateway",), "AllocateAddress": ("elastic-ip",)}
NAT_CHANGE: dict[str, Kinds] = {
    "CreateNatGateway": ("elastic-ip", "subnet"),
    "CreateTags": ("natgateway",),
    "DeleteNatGateway": ("natgateway",),
    "ReleaseAddress": ("elastic-ip",),
}
# What Kubernetes has made carries a tag of its own, and goes with the cluster.
KUBERNETES: dict[str, Kinds] = {
    "DeleteSecurityGroup": ("security-group",),
    "DeleteVolume": ("volume",),
    "RevokeSecurityGroupIngress": ("security-group",),
}
KUBERNETES_BALANCER: dict[str, Kinds] = {
    "DeleteLoadBalancer": ("loadbalancer",),
    "DeleteTargetGroup": ("targetgroup",),
}
IN_VPC = frozenset({"CreateSubnet", "CreateRouteTable", "CreateSecurityGroup"})

BALANCER: dict[str, Kinds] = {
    **dict.fromkeys(("CreateLoadBalancer", "DeleteLoadBalancer", "SetSubnets", "CreateListener"), ("balancer",)),
    **dict.fromkeys(("DeleteListener", "ModifyListener"), ("listener",)),
    **dict.fromkeys(
        (
            "CreateTargetGroup", "DeleteTargetGroup", "DeregisterTargets", "ModifyTargetGroupAttributes",
            "RegisterTargets",
        ),
        ("group",),
    ),
    "AddTags": ("balancer", "listener", "group"),
}  # fmt: skip
ROLES: dict[str, Kinds] = {
    **dict.fromkeys(
        (
            "CreateRole", "DeleteRole", "DeleteRolePolicy", "DetachRolePolicy", "ListAttachedRolePolicies",
            "ListRolePolicies", "TagRole",
        ),
        ("role",),
    ),
    **dict.fromkeys(
        (
            "AddRoleToInstanceProfile", "CreateInstanceProfile", "DeleteInstanceProfile", "GetInstanceProfile",
            "RemoveRoleFromInstanceProfile", "TagInstanceProfile",
        ),
        ("instance-profile",),
    ),
}  # fmt: skip
OWN_POLICIES: dict[str, Kinds] = dict.fromkeys(
    (
        "CreatePolicy", "CreatePolicyVersion", "DeletePolicy", "DeletePolicyVersion", "GetPolicyVersion",
        "ListPolicyVersions", "TagPolicy",
    ),
    ("policy",),
)  # fmt: skip
