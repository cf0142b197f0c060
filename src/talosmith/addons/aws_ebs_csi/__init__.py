"""aws-ebs-csi: volumes of EBS, by an encrypted gp3 StorageClass.

The controller has the role of the control planes, through the instance metadata. It is on the pod network (the chart
knows no other), so the metadata's hop limit has to be 2: it is, where `aws.iam` has `ebs-csi`.
"""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.addons.addon import Addon, Chart, ClusterMark, Finding, Values
from talosmith.addons.aws_access import aws_findings
from talosmith.addons.controlplanes import ALLOWED_ON_CONTROLPLANES, NODE_SELECTOR
from talosmith.addons.storage import default_annotations
from talosmith.model.cluster import Cluster
from talosmith.model.providers.aws import Aws

NAME = "aws-ebs-csi"
_POLICY = "ebs-csi"
_HOPS = 2


def values(cluster: Cluster) -> Values:
    section = cluster.provider
    controller: Values = {
        "replicaCount": min(2, len(cluster.controlplanes)),
        "nodeSelector": NODE_SELECTOR,
        "tolerations": ALLOWED_ON_CONTROLPLANES,
        "k8sTagClusterId": ClusterMark(),  # `destroy` finds volumes by it
    }
    if isinstance(section, Aws):
        controller |= {"region": section.region, "extraVolumeTags": dict(section.tags)}
    gp3 = {
        "name": "gp3",
        "annotations": default_annotations(cluster, NAME),
        "allowVolumeExpansion": True,
        "volumeBindingMode": "WaitForFirstConsumer",  # a volume is in the zone of its pod
        "parameters": {"type": "gp3", "encrypted": "true"},
    }
    return {
        "controller": controller,
        "node": {"enableWindows": False},
        "storageClasses": [gp3],
        "helmTester": {"enabled": False},
    }


def check(cluster: Cluster) -> Iterator[Finding]:
    why = f"the controller of {NAME} runs there, and creates volumes with that role"
    yield from (found := [*aws_findings(cluster, NAME, _POLICY, why)])
    section = cluster.provider
    if not found and isinstance(section, Aws) and section.hop_limit < _HOPS:
        yield Finding(
            "error",
            ("aws", "metadata_hop_limit"),
            f"pods do not reach the instance metadata with a hop limit of {section.hop_limit}",
            f"{NAME} gets its credentials from it",
            f"set aws.metadata_hop_limit: {_HOPS}",
        )


ADDON = Addon(
    title="StorageClass on EBS volumes",
    namespace="kube-system",
    chart=Chart(
        "https://kubernetes-sigs.github.io/aws-ebs-csi-driver",
        {"2.64.0": ">=1.31", "2.45.1": ">=1.20"},
        "aws-ebs-csi-driver",
    ),
    values=values,
    check=check,
    after=("talos-ccm", "aws-ccm"),
    privileged=True,
)
