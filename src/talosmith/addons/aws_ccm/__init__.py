"""aws-ccm, the AWS cloud controller manager: load balancers for Services; deletes Node objects of lost instances.

Nodes are initialised by talos-ccm (see there), so the controller cloud-node stays off; route is off as well, since
the CNI carries the traffic of pods.
"""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.addons.addon import Addon, Chart, Finding, MachineNeeds, Values, namespace_of
from talosmith.addons.aws_access import aws_findings
from talosmith.addons.controlplanes import ALLOWED_ON_NEW_NODES, NODE_SELECTOR
from talosmith.addons.machine_documents import external_cloud_provider
from talosmith.model.cluster import Cluster

NAME = "aws-ccm"
_POLICY = "cloud-controller"
_INITIALISES = "talos-ccm"
# Each release is for one minor version of Kubernetes; the chart has a single one.
_IMAGES = {
    37: "v1.37.0",
    36: "v1.36.1",
    35: "v1.35.2",
    34: "v1.34.3",
    33: "v1.33.4",
    32: "v1.32.8",
    31: "v1.31.9",
    30: "v1.30.10",
    29: "v1.29.10",
}


def values(cluster: Cluster) -> Values:
    minor = min(max(cluster.kubernetes_version.minor, min(_IMAGES)), max(_IMAGES))
    return {
        "namespace": namespace_of(cluster, NAME),  # the chart does not go by the release's
        "image": {"tag": _IMAGES[minor]},
        "args": ["--v=2", "--cloud-provider=aws", "--controllers=cloud-node-lifecycle,service"],
        "hostNetworking": True,  # instance metadata is one hop away, whatever the hop limit
        "nodeSelector": NODE_SELECTOR,
        "tolerations": ALLOWED_ON_NEW_NODES,
    }


def machine(cluster: Cluster) -> MachineNeeds:
    return MachineNeeds(all_nodes=(external_cloud_provider(),))


def check(cluster: Cluster) -> Iterator[Finding]:
    why = f"{NAME} runs there, and calls EC2 and Elastic Load Balancing with that role"
    yield from aws_findings(cluster, NAME, _POLICY, why)
    if cluster.provider.name == "aws" and _INITIALISES not in cluster.addons:
        yield Finding(
            "error",
            ("addons", _INITIALISES),
            f"{NAME} needs {_INITIALISES}, which is switched off",
            "nodes have names of the inventory, by which aws-ccm finds no instance: they would stay uninitialised",
            f"remove `addons.{_INITIALISES}: false`",
        )


ADDON = Addon(
    title="Load balancers of AWS for Services",
    namespace="kube-system",
    chart=Chart(
        "https://kubernetes.github.io/cloud-provider-aws", {"0.0.11": ">=1.24"}, "aws-cloud-controller-manager"
    ),
    stage="cloud",
    values=values,
    machine=machine,
    check=check,
    after=(_INITIALISES,),
    brings=(_INITIALISES,),
    privileged=True,
)
