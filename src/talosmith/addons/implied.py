"""Which keys of the inventory bring add-ons that `addons` does not name: an NFS share brings its CSI driver."""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.model.services import Services


def implied(services: Services) -> Iterator[tuple[str, str]]:
    """Add-on, and the key of the inventory that brings it."""
    if services.nfs is not None:
        yield "csi-driver-nfs", "nfs"
    if services.gateways is not None:
        yield "envoy-gateway", "gateways"
        if services.domain is not None:
            yield "cert-manager", "domain"
        if services.gateways.dns is not None and services.dns.internal == "k8s-gateway":
            yield "k8s-gateway", "gateways.dns"
    if services.dns.provider == "cloudflare" and services.ingress.mode != "none":  # else it is for certificates alone
        yield "external-dns", "ingress.mode"
    if services.unifi is not None and services.dns.internal == "unifi":
        yield "external-dns-unifi", "unifi"
    if services.ingress.mode == "cloudflare-tunnel":
        yield "cloudflared", "ingress.mode"
    if services.backup is not None:
        yield "talos-backup", "backup.etcd"
    if "cilium" in services.model_fields_set:
        yield "cilium", "cilium"
