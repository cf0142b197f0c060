"""Who a client is and what it may do: certificates and tokens become users, roles and bindings decide."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from cryptography import x509
from cryptography.x509.oid import NameOID

from talosmith_lab.kube.cluster import Kubernetes
from talosmith_lab.kube.errors import ApiError
from talosmith_lab.kube.kinds import Obj, find

MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
CLUSTER_ROLE = find("rbac.authorization.k8s.io/v1", "ClusterRole")
CLUSTER_BINDING = find("rbac.authorization.k8s.io/v1", "ClusterRoleBinding")
ROLE = find("rbac.authorization.k8s.io/v1", "Role")
BINDING = find("rbac.authorization.k8s.io/v1", "RoleBinding")
_NODES = "system:nodes"
# What kubelets need beyond their role; a real server narrows it to what concerns the node itself.
_NODE_RULES: list[Obj] = [
    {"apiGroups": [""], "resources": ["secrets", "configmaps", "persistentvolumeclaims", "persistentvolumes"],
     "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["*"]},
    {"apiGroups": ["storage.k8s.io"], "resources": ["csinodes", "csidrivers", "volumeattachments"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["nodes", "nodes/status", "pods", "pods/status", "pods/eviction", "events",
     "services", "endpoints", "serviceaccounts/token"], "verbs": ["*"]},
    {"apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"], "verbs": ["create", "get",
     "list", "watch"]},
    {"apiGroups": ["node.k8s.io", "resource.k8s.io"], "resources": ["*"], "verbs": ["get", "list", "watch"]},
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class User:
    name: str
    groups: tuple[str, ...]
    uid: str = ""
    extra: Obj = field(default_factory=dict)

    @property
    def info(self) -> Obj:
        info: Obj = {"username": self.name}
        if self.uid:
            info["uid"] = self.uid
        info["groups"] = list(self.groups)
        if self.extra:
            info["extra"] = self.extra
        return info


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a user wants to do: with a resource, or at a path."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def full_resource(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def from_certificate(der: bytes) -> User:
    """The certificate's name is the user, its organizations are the groups."""
    subject = x509.load_der_x509_certificate(der).subject
    names = [str(one.value) for one in subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    groups = [str(one.value) for one in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    credential = f"X509SHA256={hashlib.sha256(der).hexdigest()}"
    extra = {"authentication.kubernetes.io/credential-id": [credential]}
    return User(names[0] if names else "", (*groups, AUTHENTICATED), extra=extra)


def account_user(namespace: str, name: str, uid: str = "", extra: Obj | None = None) -> User:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)
    return User(f"system:serviceaccount:{namespace}:{name}", groups, uid, extra or {})


def allowed(kubernetes: Kubernetes, user: User, wish: Wish) -> bool:
    return MASTERS in user.groups or any(_allows(rule, wish) for rule in rules_of(kubernetes, user, wish.namespace))


def rules_of(kubernetes: Kubernetes, user: User, namespace: str = "") -> Iterator[Obj]:
    """All that bindings give the user, cluster-wide and in the namespace."""
    if _NODES in user.groups:
        yield from _NODE_RULES
    storage = kubernetes.storage
    for _, stored in storage.under(CLUSTER_BINDING.root):
        if _binds(stored.obj, user, ""):
            yield from _rules(kubernetes, stored.obj["roleRef"], "")
    if namespace:
        for _, stored in storage.under(f"{BINDING.root}{namespace}/"):
            if _binds(stored.obj, user, namespace):
                yield from _rules(kubernetes, stored.obj["roleRef"], namespace)


def _binds(binding: Obj, user: User, namespace: str) -> bool:
    for subject in binding.get("subjects") or ():
        kind, name = subject.get("kind"), subject.get("name", "")
        if (kind == "User" and name == user.name) or (kind == "Group" and name in user.groups):
            return True
        place = subject.get("namespace") or namespace
        if kind == "ServiceAccount" and user.name == f"system:serviceaccount:{place}:{name}":
            return True
    return False


def _rules(kubernetes: Kubernetes, reference: Obj, namespace: str) -> list[Obj]:
    if reference.get("kind") == "Role":
        stored = kubernetes.storage.get(ROLE.key(namespace, reference.get("name", "")))
    else:
        stored = kubernetes.storage.get(CLUSTER_ROLE.key("", reference.get("name", "")))
    return list(stored.obj.get("rules") or ()) if stored is not None else []


def _allows(rule: Obj, wish: Wish) -> bool:
    if not _has(rule.get("verbs"), wish.verb):
        return False
    if not wish.resource:
        return any(_path_matches(one, wish.path) for one in rule.get("nonResourceURLs") or ())
    names = rule.get("resourceNames")
    return (
        _has(rule.get("apiGroups"), wish.group)
        and _resource_matches(rule.get("resources") or (), wish)
        and (not names or wish.name in names)
    )


def _has(values: Any, wanted: str) -> bool:
    return bool(values) and ("*" in values or wanted in values)


def _resource_matches(resources: Any, wish: Wish) -> bool:
    if "*" in resources or wish.full_resource in resources:
        return True
    return bool(wish.subresource) and f"*/{wish.subresource}" in resources


def _path_matches(pattern: str, path: str) -> bool:
    return path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern


def refusal(user: User, wish: Wish) -> ApiError:
    if not wish.resource:
        return ApiError(403, "Forbidden", f'forbidden: User "{user.name}" cannot {wish.verb} path "{wish.path}"', {})
    where = f'in the namespace "{wish.namespace}"' if wish.namespace else "at the cluster scope"
    what = (
        f'User "{user.name}" cannot {wish.verb} resource "{wish.full_resource}" in API group "{wish.group}" {where}'
    )
    resource = f"{wish.resource}.{wish.group}" if wish.group else wish.resource
    subject = f'{resource} "{wish.name}"' if wish.name else resource
    details: Obj = {"kind": wish.resource}
    if wish.group:
        details = {"group": wish.group, **details}
    if wish.name:
        details = {"name": wish.name, **details}
    return ApiError(403, "Forbidden", f"{subject} is forbidden: {what}", details)
