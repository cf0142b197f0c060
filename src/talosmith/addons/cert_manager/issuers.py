"""The issuers: Let's Encrypt by DNS-01 records at Cloudflare, or a CA that cert-manager creates and keeps itself."""

from __future__ import annotations

from collections.abc import Sequence

from talosmith.addons.addon import Object, namespace_of, secret
from talosmith.model.cluster import Cluster

_ACME, _OWN, _ROOT = "letsencrypt-production", "internal-ca", "selfsigned"
_DIRECTORY = "https://acme-v02.api.letsencrypt.org/directory"
_TOKEN = "cloudflare-api-token"  # noqa: S105 - the name of a Secret
_KEY = "api-token"


def uses_acme(cluster: Cluster) -> bool:
    return cluster.services.dns.provider == "cloudflare" and cluster.services.dns.token is not None


def issuer(cluster: Cluster) -> str:
    """The ClusterIssuer that certificates of the domain come from."""
    return _ACME if uses_acme(cluster) else _OWN


def objects(cluster: Cluster) -> Sequence[Object]:
    token = cluster.services.dns.token
    if token is None or not uses_acme(cluster):
        return ()
    return (secret(_TOKEN, namespace_of(cluster, "cert-manager"), {_KEY: token}),)


def config(cluster: Cluster) -> Sequence[Object]:
    if uses_acme(cluster):
        return (_cluster_issuer(_ACME, {"acme": _acme(cluster)}),)
    authority = {
        "isCA": True,
        "commonName": f"{cluster.name[:50]} internal CA",  # of 64 characters at most
        "secretName": _OWN,
        "duration": "87600h",  # ten years: it is in the trust stores of other machines
        "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Never"},
        "issuerRef": {"group": "cert-manager.io", "kind": "ClusterIssuer", "name": _ROOT},
    }
    certificate = {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": {"name": _OWN, "namespace": namespace_of(cluster, "cert-manager")},
        "spec": authority,
    }
    return (
        _cluster_issuer(_ROOT, {"selfSigned": {}}),
        certificate,
        _cluster_issuer(_OWN, {"ca": {"secretName": _OWN}}),
    )


def _acme(cluster: Cluster) -> Object:
    """Without an e-mail address, which ACME does not ask for."""
    solver: Object = {"dns01": {"cloudflare": {"apiTokenSecretRef": {"name": _TOKEN, "key": _KEY}}}}
    if cluster.services.domain is not None:
        solver["selector"] = {"dnsZones": [cluster.services.domain]}
    return {"server": _DIRECTORY, "privateKeySecretRef": {"name": _ACME}, "solvers": [solver]}


def _cluster_issuer(name: str, spec: Object) -> Object:
    return {"apiVersion": "cert-manager.io/v1", "kind": "ClusterIssuer", "metadata": {"name": name}, "spec": spec}
