"""The pods of the tunnel and the rules by which it passes requests on."""

from __future__ import annotations

import hashlib

from talosmith.addons.addon import Object, namespace_of
from talosmith.addons.envoy_gateway.gateways import EXTERNAL, has_tls, host
from talosmith.model.cluster import Cluster

NAME = "cloudflared"
_IMAGE = "docker.io/cloudflare/cloudflared:2026.8.2"
_FOLDER = "/etc/cloudflared"
_METRICS = 8080
_NOBODY = 65532


def ingress_rules(cluster: Cluster) -> str:
    """The domain and all names below it go to the external Gateway, everything else is refused."""
    domain = cluster.services.domain or ""
    space = namespace_of(cluster, "envoy-gateway") if "envoy-gateway" in cluster.addons else "network"
    service = f"{EXTERNAL}.{space}.svc.{cluster.kubernetes.dns_domain}"
    lines = ["ingress:"]
    for name in (domain, f"*.{domain}"):
        lines.append(f'  - hostname: "{name}"')
        if has_tls(cluster):
            # The certificate is for the domain, not for the Service that it is reached by.
            origin = f"{{originServerName: {host(cluster, EXTERNAL)}, http2Origin: true}}"
            lines += [f"    service: https://{service}:443", f"    originRequest: {origin}"]
        else:
            lines.append(f"    service: http://{service}:80")
    return "\n".join([*lines, "  - service: http_status:404", ""])


def deployment(cluster: Cluster, namespace: str, rules: str) -> Object:
    labels = {"app.kubernetes.io/name": NAME}
    reload = {"annotations": {"reloader.stakater.com/auto": "true"}} if "reloader" in cluster.addons else {}
    # Pods read the rules when they start: others have to be started for other rules.
    checksum = {"checksum/config": hashlib.sha256(rules.encode()).hexdigest()}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": NAME, "namespace": namespace, "labels": labels, **reload},
        "spec": {
            "replicas": 2 if len(cluster.nodes) > 1 else 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels, "annotations": checksum}, "spec": _pod(labels)},
        },
    }


def _pod(labels: dict[str, str]) -> Object:
    apart = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    wish = [{"weight": 100, "podAffinityTerm": apart}]
    return {
        "automountServiceAccountToken": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _NOBODY,
            "runAsGroup": _NOBODY,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": wish}},
        "containers": [_container()],
        "volumes": [{"name": "config", "configMap": {"name": NAME}}],
    }


def _container() -> Object:
    settings = {
        "NO_AUTOUPDATE": "true",
        "TUNNEL_METRICS": f"0.0.0.0:{_METRICS}",
        "TUNNEL_TRANSPORT_PROTOCOL": "quic",
        "TUNNEL_POST_QUANTUM": "true",
    }
    probe = {"httpGet": {"path": "/ready", "port": _METRICS}, "periodSeconds": 10, "failureThreshold": 3}
    return {
        "name": NAME,
        "image": _IMAGE,
        "args": ["tunnel", "--config", f"{_FOLDER}/config.yaml", "run"],
        "env": [{"name": name, "value": value} for name, value in settings.items()],
        "envFrom": [{"secretRef": {"name": NAME}}],
        "ports": [{"name": "metrics", "containerPort": _METRICS}],
        "readinessProbe": probe,
        "livenessProbe": {**probe, "initialDelaySeconds": 10},
        "resources": {"requests": {"cpu": "10m"}, "limits": {"memory": "256Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "config", "mountPath": _FOLDER, "readOnly": True}],
    }
