"""What Talos puts into every fresh config, whatever its form: images, policies, names."""

from __future__ import annotations

from typing import Any

KUBELET_IMAGE = "ghcr.io/siderolabs/kubelet"
KUBERNETES_REGISTRY = "registry.k8s.io"
POD_SUBNETS = ("10.244.0.0/16",)
SERVICE_SUBNETS = ("10.96.0.0/12",)
KUBE_PRISM_PORT = 7445
CONTROL_PLANE_ROLE = "node-role.kubernetes.io/control-plane"
NOT_BEHIND_LOAD_BALANCERS = "node.kubernetes.io/exclude-from-external-load-balancers"

POD_SECURITY: dict[str, Any] = {
    "name": "PodSecurity",
    "configuration": {
        "apiVersion": "pod-security.admission.config.k8s.io/v1alpha1",
        "kind": "PodSecurityConfiguration",
        "defaults": {
            "enforce": "baseline",
            "enforce-version": "latest",
            "audit": "restricted",
            "audit-version": "latest",
            "warn": "restricted",
            "warn-version": "latest",
        },
        "exemptions": {"namespaces": ["kube-system"], "runtimeClasses": [], "usernames": []},
    },
}
AUDIT_POLICY: dict[str, Any] = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}
AUTHENTICATION: dict[str, Any] = {
    "anonymous": {"enabled": True, "conditions": [{"path": "/livez"}, {"path": "/readyz"}, {"path": "/healthz"}]},
    "jwt": [],
}


def kubelet_image(kubernetes: str) -> str:
    return f"{KUBELET_IMAGE}:{_tag(kubernetes)}"


def component_image(name: str, kubernetes: str) -> str:
    return f"{KUBERNETES_REGISTRY}/{name}:{_tag(kubernetes)}"


def _tag(kubernetes: str) -> str:
    return f"v{kubernetes.removeprefix('v')}"
