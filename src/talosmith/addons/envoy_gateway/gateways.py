"""The objects of Envoy Gateway: its class, the Gateways, their certificate, and how they treat connections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from talosmith.addons.addon import Object, namespace_of
from talosmith.addons.cert_manager.issuers import issuer
from talosmith.model.cluster import Cluster
from talosmith.model.values import IpAddress

INTERNAL, EXTERNAL = "envoy-internal", "envoy-external"
_CLASS = "envoy"
_API = "gateway.networking.k8s.io"
_EXTENSIONS = "gateway.envoyproxy.io"
_DNS = "external-dns.alpha.kubernetes.io"


def config(cluster: Cluster) -> Sequence[Object]:
    namespace = namespace_of(cluster, "envoy-gateway")
    gateways = addresses(cluster)
    found = [_proxy(cluster, namespace), _class(namespace)]
    if not gateways:
        return found
    if has_tls(cluster):
        found.append(_certificate(cluster, namespace))
    found += [_gateway(cluster, namespace, name, address) for name, address in gateways.items()]
    if has_tls(cluster):
        found.append(_redirect(namespace, [*gateways]))
    return [*found, *_policies(cluster, namespace, [*gateways])]


def addresses(cluster: Cluster) -> dict[str, IpAddress]:
    """The Gateways, each with its address."""
    gateways = cluster.services.gateways
    if gateways is None:
        return {}
    return {INTERNAL: gateways.internal} | ({EXTERNAL: gateways.external} if gateways.external is not None else {})


def host(cluster: Cluster, name: str) -> str:
    """The host name of a Gateway: that of each route is an alias of it."""
    return f"{name.removeprefix('envoy-')}.{cluster.services.domain}"


def has_tls(cluster: Cluster) -> bool:
    return cluster.services.domain is not None and "cert-manager" in cluster.addons


def _proxy(cluster: Cluster, namespace: str) -> Object:
    kubernetes = {
        "envoyDeployment": {"replicas": 2 if len(cluster.nodes) > 1 else 1},
        # A node that announces the address may have no proxy; with Local, which is the default, it drops the packets.
        "envoyService": {"externalTrafficPolicy": "Cluster"},
    }
    spec = {"provider": {"type": "Kubernetes", "kubernetes": kubernetes}}
    return _object(f"{_EXTENSIONS}/v1alpha1", "EnvoyProxy", _CLASS, namespace, spec)


def _class(namespace: str) -> Object:
    parameters = {"group": _EXTENSIONS, "kind": "EnvoyProxy", "name": _CLASS, "namespace": namespace}
    spec = {"controllerName": f"{_EXTENSIONS}/gatewayclass-controller", "parametersRef": parameters}
    return _object(f"{_API}/v1", "GatewayClass", _CLASS, "", spec)


def _certificate(cluster: Cluster, namespace: str) -> Object:
    domain = cluster.services.domain
    spec = {
        "secretName": _tls_secret(cluster),
        "dnsNames": [domain, f"*.{domain}"],
        "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
        "issuerRef": {"group": "cert-manager.io", "kind": "ClusterIssuer", "name": issuer(cluster)},
    }
    return _object("cert-manager.io/v1", "Certificate", _tls_secret(cluster), namespace, spec)


def _tls_secret(cluster: Cluster) -> str:
    return f"{(cluster.services.domain or '').replace('.', '-')}-tls"


def _gateway(cluster: Cluster, namespace: str, name: str, address: IpAddress) -> Object:
    listeners: list[Object] = [{"name": "http", "protocol": "HTTP", "port": 80, **_routes("All")}]
    if has_tls(cluster):
        tls = {"certificateRefs": [{"kind": "Secret", "name": _tls_secret(cluster)}]}
        # HTTP is only for the redirect, which is in the same namespace.
        listeners = [
            {"name": "http", "protocol": "HTTP", "port": 80, **_routes("Same")},
            {"name": "https", "protocol": "HTTPS", "port": 443, "tls": tls, **_routes("All")},
        ]
    spec: Object = {"gatewayClassName": _CLASS, "listeners": listeners}
    annotations = {"lbipam.cilium.io/ips": str(address)} if "cilium" in cluster.addons else {}
    if not annotations:
        spec["addresses"] = [{"type": "IPAddress", "value": str(address)}]
    if cluster.services.domain is not None:
        annotations[f"{_DNS}/hostname"] = host(cluster, name)
    if annotations:
        spec["infrastructure"] = {"annotations": annotations}  # of the Service
    found = _object(f"{_API}/v1", "Gateway", name, namespace, spec)
    if cluster.services.domain is not None:
        found["metadata"]["annotations"] = {f"{_DNS}/target": host(cluster, name)}
    return found


def _routes(origin: str) -> Object:
    return {"allowedRoutes": {"namespaces": {"from": origin}}}


def _redirect(namespace: str, gateways: Sequence[str]) -> Object:
    redirect = {"type": "RequestRedirect", "requestRedirect": {"scheme": "https", "statusCode": 301}}
    spec = {
        "parentRefs": [{"name": name, "namespace": namespace, "sectionName": "http"} for name in gateways],
        "rules": [{"filters": [redirect]}],
    }
    found = _object(f"{_API}/v1", "HTTPRoute", "https-redirect", namespace, spec)
    found["metadata"]["annotations"] = {f"{_DNS}/controller": "none"}  # it has no host name of its own
    return found


def _policies(cluster: Cluster, namespace: str, gateways: Sequence[str]) -> Iterator[Object]:
    targets = {"targetRefs": [{"group": _API, "kind": "Gateway", "name": name} for name in gateways]}
    # Pods, such as those of a tunnel, say truly on whose behalf they ask.
    forwarded = {"clientIPDetection": {"xForwardedFor": {"trustedCIDRs": [str(cluster.network.pod_cidr)]}}}
    spec = {**targets, **forwarded, **({"tls": {"minVersion": "1.2"}} if has_tls(cluster) else {})}
    yield _object(f"{_EXTENSIONS}/v1alpha1", "ClientTrafficPolicy", _CLASS, namespace, spec)
    # Envoy ends requests after 15 seconds otherwise, and with them downloads and event streams.
    spec = {**targets, "timeout": {"http": {"requestTimeout": "0s"}}}
    yield _object(f"{_EXTENSIONS}/v1alpha1", "BackendTrafficPolicy", _CLASS, namespace, spec)


def _object(api: str, kind: str, name: str, namespace: str, spec: Object) -> Object:
    where = {"namespace": namespace} if namespace else {}
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name, **where}, "spec": spec}
