"""argo-cd: keeps applications in sync with Git repositories; these are set up in Argo CD itself.

Without Dex (single sign-on) and without an Ingress: both depend on what the user has around the cluster.
"""

from __future__ import annotations

from talosmith.addons.addon import Addon, Chart, Values
from talosmith.model.cluster import Cluster


def values(cluster: Cluster) -> Values:
    found: Values = {
        "fullnameOverride": "argocd",  # the names that its documentation has: argocd-server and so on
        "dex": {"enabled": False},
        "server": {"ingress": {"enabled": False}},
    }
    if cluster.services.domain:
        found["global"] = {"domain": f"argocd.{cluster.services.domain}"}
    return found


ADDON = Addon(
    title="Argo CD: keeps applications in sync with Git repositories",
    namespace="argocd",
    chart=Chart("oci://ghcr.io/argoproj/argo-helm/argo-cd", {"10.8.0": ">=1.31", "8.0.17": ">=1.25"}),
    values=values,
)
