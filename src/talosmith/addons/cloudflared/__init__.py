"""cloudflared: a tunnel from Cloudflare to the external Gateway, so that no port of the home network is open.

The secret `ingress.tunnel` is the tunnel's token. The DNS record of the Gateway names the tunnel by its id; the id is
in the token, too, but what a plan shows must not depend on a secret, so it is a key of its own. The ingress rules
apply to tunnels that are managed by their own configuration; Cloudflare's dashboard overrules them for the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from talosmith.addons.addon import Addon, Finding, MachineNeeds, Object, namespace_of, secret
from talosmith.addons.cloudflared.deployment import NAME, deployment, ingress_rules
from talosmith.addons.envoy_gateway.gateways import EXTERNAL, host
from talosmith.addons.machine_documents import sysctls
from talosmith.model.cluster import Cluster

_BUFFER = "7500000"  # bytes; QUIC asks for more than the kernel's default


def objects(cluster: Cluster) -> Sequence[Object]:
    ingress, namespace = cluster.services.ingress, namespace_of(cluster, "cloudflared")
    if ingress.tunnel is None:  # which the rules refuse
        return ()
    rules = ingress_rules(cluster)
    settings = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": NAME, "namespace": namespace},
        "data": {"config.yaml": rules},
    }
    token = secret(NAME, namespace, {"TUNNEL_TOKEN": ingress.tunnel})
    return (token, settings, deployment(cluster, namespace, rules))


def config(cluster: Cluster) -> Sequence[Object]:
    """The record, which external-dns creates: its chart has the CRD."""
    tunnel = cluster.services.ingress.tunnel_id
    if tunnel is None or not _has_record(cluster):
        return ()
    record = {
        "dnsName": host(cluster, EXTERNAL),
        "recordType": "CNAME",
        "targets": [f"{tunnel}.cfargotunnel.com"],
    }
    return (
        {
            "apiVersion": "externaldns.k8s.io/v1alpha1",
            "kind": "DNSEndpoint",
            "metadata": {"name": NAME, "namespace": namespace_of(cluster, "cloudflared")},
            "spec": {"endpoints": [record]},
        },
    )


def _has_record(cluster: Cluster) -> bool:
    return "external-dns" in cluster.addons and cluster.services.domain is not None


def machine(cluster: Cluster) -> MachineNeeds:
    wanted = {"net.core.rmem_max": _BUFFER, "net.core.wmem_max": _BUFFER}
    unset = {name: value for name, value in wanted.items() if name not in cluster.talos.sysctls}
    return MachineNeeds(all_nodes=(sysctls(cluster, unset),) if unset else ())


def check(cluster: Cluster) -> Iterator[Finding]:
    """What the rules of DNS and gateways do not say already."""
    ingress = cluster.services.ingress
    if ingress.mode != "cloudflare-tunnel":
        fix = "set `ingress.mode: cloudflare-tunnel` and `ingress.tunnel`"
        yield Finding("error", ("addons", "cloudflared"), "cloudflared has no tunnel", fix=fix)
    elif cluster.services.gateways is None:
        what, why = "the tunnel leads nowhere", "there is no external Gateway"
        yield Finding("error", ("ingress", "mode"), what, why, "set gateways.internal and gateways.external")
    elif ingress.tunnel_id is None and _has_record(cluster):
        yield Finding(
            "warning",
            ("ingress", "mode"),
            f"no DNS record leads to the tunnel: {host(cluster, EXTERNAL)} is not created",
            "it is a CNAME of the tunnel's id, which the inventory does not have",
            "set `ingress.tunnel_id` to the id that `cloudflared tunnel list` shows, or create the record yourself",
        )


ADDON = Addon(
    title="Tunnel from Cloudflare to the external gateway",
    namespace="network",
    objects=objects,
    config=config,
    machine=machine,
    check=check,
    after=("cilium", "coredns", "envoy-gateway", "external-dns"),
)
