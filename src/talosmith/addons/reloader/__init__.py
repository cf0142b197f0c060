"""reloader: restarts workloads whose ConfigMaps or Secrets change, where an annotation asks for it."""

from __future__ import annotations

from talosmith.addons.addon import Addon, Chart, Values
from talosmith.model.cluster import Cluster


def values(cluster: Cluster) -> Values:
    return {"fullnameOverride": "reloader", "reloader": {"readOnlyRootFileSystem": True}}


ADDON = Addon(
    title="Restarts workloads when their ConfigMaps or Secrets change",
    namespace="kube-system",
    chart=Chart("oci://ghcr.io/stakater/charts/reloader", {"2.2.16": ">=1.19"}),
    values=values,
    rendered_by_tests=False,
)
