"""Kinds that operators register by themselves, and Talos: their charts and manifests do not bring them.

Columns: kind, plural, short names, versions (that of the storage first), scope (`*` for namespaced).
"""

from __future__ import annotations

from talosmith_lab.kube.kinds import Obj

CILIUM = """
cilium.io
  CiliumBGPAdvertisement          ciliumbgpadvertisements          cbgpadvert               v2,v2alpha1
  CiliumBGPClusterConfig          ciliumbgpclusterconfigs          cbgpcluster              v2,v2alpha1
  CiliumBGPNodeConfigOverride     ciliumbgpnodeconfigoverrides     cbgpnodeoverride         v2,v2alpha1
  CiliumBGPPeerConfig             ciliumbgppeerconfigs             cbgppeer                 v2,v2alpha1
  CiliumCIDRGroup                 ciliumcidrgroups                 ccg                      v2,v2alpha1
  CiliumClusterwideNetworkPolicy  ciliumclusterwidenetworkpolicies ccnp                     v2
  CiliumEgressGatewayPolicy       ciliumegressgatewaypolicies      cegp                     v2
  CiliumL2AnnouncementPolicy      ciliuml2announcementpolicies     l2announcement           v2alpha1
  CiliumLoadBalancerIPPool        ciliumloadbalancerippools        ippools,ippool,lbippool  v2,v2alpha1
  CiliumNetworkPolicy             ciliumnetworkpolicies            cnp,ciliumnp             v2           *
"""
# Of Talos' API access: no status subresource.
TALOS = """
talos.dev
  ServiceAccount                  serviceaccounts                  tsa                      v1alpha1     *
"""
_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def definitions(table: str, *, status: bool = True) -> tuple[Obj, ...]:
    """The definitions of a table. Their schemas take any content."""
    group, *lines = table.strip().splitlines()
    return tuple(_definition(group, line.split(), status) for line in lines)


def _definition(group: str, words: list[str], status: bool) -> Obj:
    kind, plural, short, versions, scope = [*words, ""][:5]
    names = {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {**names, "shortNames": short.split(",")},
            "scope": "Namespaced" if scope == "*" else "Cluster",
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": number == 0,
                    "schema": {"openAPIV3Schema": _OPEN},
                    **({"subresources": {"status": {}}} if status else {}),
                }
                for number, version in enumerate(versions.split(","))
            ],
        },
    }
