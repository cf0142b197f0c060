"""Gateway API: its CRDs of the standard channel, and those of Envoy Gateway where that is enabled.

They are an add-on of their own because several others need them: Envoy Gateway, k8s-gateway and external-dns. The
chart is Envoy Gateway's, which carries both sets of CRDs and nothing else.
"""

from __future__ import annotations

from talosmith.addons.addon import Addon, Chart, Values
from talosmith.model.cluster import Cluster

VERSIONS = {"v1.9.1": ">=1.33"}  # the same for the CRDs and for Envoy Gateway itself


def values(cluster: Cluster) -> Values:
    return {
        "crds": {
            "gatewayAPI": {"enabled": True, "channel": "standard"},
            "envoyGateway": {"enabled": "envoy-gateway" in cluster.addons},
        }
    }


ADDON = Addon(
    title="CRDs of the Kubernetes Gateway API",
    namespace="kube-system",
    chart=Chart("oci://docker.io/envoyproxy/gateway-crds-helm", VERSIONS, "gateway-crds-helm"),
    values=values,
)
