"""Roles, bindings and priorities that every cluster starts with: those that people bind to, and refusals rest on.

A real API server has some 170 more, for its own controllers; the lab's controllers do not ask for permission.
"""

from __future__ import annotations

from collections.abc import Iterator

from talosmith_lab.kube.kinds import Obj

_GROUP = "rbac.authorization.k8s.io"
_READ = ["get", "list", "watch"]
_WRITE = ["create", "delete", "deletecollection", "patch", "update"]
_CORE = ["configmaps", "endpoints", "events", "persistentvolumeclaims", "pods", "pods/log", "pods/status",
         "resourcequotas", "serviceaccounts", "services", "namespaces", "limitranges"]  # fmt: skip
_GROUPS = ["apps", "autoscaling", "batch", "discovery.k8s.io", "networking.k8s.io", "policy"]
_SECRET = ["secrets", "pods/eviction", "pods/exec", "pods/portforward", "serviceaccounts/token"]


def first_objects() -> Iterator[Obj]:
    view = [_rule(_READ, [""], _CORE), _rule(_READ, _GROUPS, ["*"])]
    edit = [*view, _rule(_WRITE, [""], _CORE), _rule(_WRITE, _GROUPS, ["*"]), _rule([*_READ, *_WRITE], [""], _SECRET)]
    admin = [*edit, _rule([*_READ, *_WRITE], [_GROUP], ["roles", "rolebindings"])]
    everything = [_rule(["*"], ["*"], ["*"]), _paths("*", verbs=["*"])]
    reviews = ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]
    basic = [
        _rule(["create"], ["authorization.k8s.io"], reviews),
        _rule(["create"], ["authentication.k8s.io"], ["selfsubjectreviews"]),
    ]
    public = [_paths("/healthz", "/livez", "/readyz", "/version", "/version/")]
    discovery = [
        _paths("/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", *public[0]["nonResourceURLs"])
    ]
    yield from (_role(name, rules) for name, rules in (("admin", admin), ("edit", edit), ("view", view)))
    for name, rules, *groups in (
        ("cluster-admin", everything, "system:masters"),
        ("system:basic-user", basic, "system:authenticated"),
        ("system:discovery", discovery, "system:authenticated"),
        ("system:public-info-viewer", public, "system:authenticated", "system:unauthenticated"),
    ):
        yield _role(name, rules)
        yield _binding(name, groups)
    for name, value in (("system-cluster-critical", 2000000000), ("system-node-critical", 2000001000)):
        yield {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "preemptionPolicy": "PreemptLowerPriority",
        }


def _rule(verbs: list[str], groups: list[str], resources: list[str]) -> Obj:
    return {"verbs": verbs, "apiGroups": groups, "resources": resources}


def _paths(*paths: str, verbs: list[str] | None = None) -> Obj:
    return {"verbs": verbs or ["get"], "nonResourceURLs": list(paths)}


def _role(name: str, rules: list[Obj]) -> Obj:
    return {"apiVersion": f"{_GROUP}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}


def _binding(name: str, groups: list[str]) -> Obj:
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": _GROUP, "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": _GROUP, "kind": "Group", "name": group} for group in groups],
    }
