"""How pods may call AWS: by the role of the control planes, which is what aws-ccm and aws-ebs-csi have in common."""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.addons.addon import Finding
from talosmith.model.cluster import Cluster
from talosmith.model.providers.aws import Aws


def aws_findings(cluster: Cluster, name: str, policy: str, why: str) -> Iterator[Finding]:
    """What is wrong with the inventory for an add-on that runs on control planes and calls AWS with their role."""
    section = cluster.provider
    if not isinstance(section, Aws):
        yield Finding("error", ("addons", name), f"{name} needs the provider aws, not {section.name}")
        return
    policies = section.iam.controlplane
    if policy not in policies and not any(one.startswith("arn:") for one in policies):
        yield Finding(
            "error",
            ("aws", "iam"),
            f"the role of control planes lacks the policy `{policy}`",
            why,
            f"add {policy} to aws.iam.controlplane",
        )
