"""metrics-server: CPU and memory of nodes and pods, for `kubectl top` and autoscalers.

Kubelets present a certificate of the Kubernetes CA only if talos-ccm (or another approver) approves their requests;
without it metrics-server has to skip the check of their certificates.
"""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.addons.addon import Addon, Chart, Finding, Values
from talosmith.model.cluster import Cluster

_APPROVER = "talos-ccm"


def values(cluster: Cluster) -> Values:
    args = [] if _APPROVER in cluster.addons else ["--kubelet-insecure-tls"]
    return {"replicas": 2 if len(cluster.nodes) > 1 else 1, "args": args}  # beside the chart's `defaultArgs`


def check(cluster: Cluster) -> Iterator[Finding]:
    if _APPROVER not in cluster.addons:
        yield Finding(
            "warning",
            ("addons", "metrics-server"),
            "metrics-server does not verify the certificates of kubelets (--kubelet-insecure-tls)",
            f"`{_APPROVER}`, which approves them, is switched off",
            f"remove `addons.{_APPROVER}: false`",
        )


ADDON = Addon(
    title="CPU and memory figures for kubectl top and autoscalers",
    namespace="kube-system",
    chart=Chart(
        "https://kubernetes-sigs.github.io/metrics-server", {"3.13.1": ">=1.31", "3.12.2": ">=1.27"}, "metrics-server"
    ),
    values=values,
    check=check,
    after=(_APPROVER,),
    brings=(_APPROVER,),
)
