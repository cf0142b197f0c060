"""cert-manager: certificates, by Let's Encrypt where the domain's DNS is at Cloudflare, else by a CA of the cluster.

The check that a DNS-01 record is visible asks public servers: the cluster's own DNS may have other records for the
domain, as k8s-gateway and UniFi do.
"""

from __future__ import annotations

from talosmith.addons.addon import Addon, Chart, Values, namespace_of
from talosmith.addons.cert_manager.issuers import config, objects, uses_acme
from talosmith.model.cluster import Cluster

_PUBLIC_DNS = "https://1.1.1.1:443/dns-query,https://1.0.0.1:443/dns-query"


def values(cluster: Cluster) -> Values:
    found: Values = {
        "crds": {"enabled": True},
        "global": {"leaderElection": {"namespace": namespace_of(cluster, "cert-manager")}},
        "startupapicheck": {"enabled": False},  # issuers are applied again until the webhook answers
    }
    if uses_acme(cluster):
        found |= {"dns01RecursiveNameservers": _PUBLIC_DNS, "dns01RecursiveNameserversOnly": True}
    return found


ADDON = Addon(
    title="Certificates by ACME (DNS-01) or by the cluster's own CA",
    namespace="cert-manager",
    chart=Chart(
        "oci://quay.io/jetstack/charts/cert-manager", {"v1.21.2": ">=1.33", "v1.18.2": ">=1.29"}, "cert-manager"
    ),
    values=values,
    objects=objects,
    config=config,
    after=("cilium", "coredns"),
    awaited={"ClusterIssuer": "Ready"},
)
