"""Questions to the API server that are asked by creating an object: who am I, may I, is this token good."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talosmith_lab.kube.access import User, Wish, allowed, rules_of
from talosmith_lab.kube.cluster import Kubernetes
from talosmith_lab.kube.errors import ApiError, invalid_value
from talosmith_lab.kube.kinds import Kind, Obj

ByToken = Callable[[str], User | None]


def is_review(kind: Kind) -> bool:
    return kind.plural.endswith("reviews") and kind.group in ("authentication.k8s.io", "authorization.k8s.io")


def answer(kubernetes: Kubernetes, kind: Kind, obj: Obj, user: User, namespace: str, by_token: ByToken) -> Obj:
    spec = obj.get("spec") or {}
    made: Obj = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": obj.get("metadata") or {}}
    if kind.kind == "SelfSubjectReview":
        made["metadata"] = {"creationTimestamp": kubernetes.now()}
        return {**made, "status": {"userInfo": user.info}}
    if kind.kind == "TokenReview":
        return {**made, "spec": spec, "status": _token(by_token(str(spec.get("token", ""))))}
    if kind.kind == "SelfSubjectRulesReview":
        return {**made, "spec": {}, "status": _rules(kubernetes, user, str(spec.get("namespace", "")))}
    if (spec.get("resourceAttributes") is None) is (spec.get("nonResourceAttributes") is None):
        raise _one_of_both()
    asked = user
    if kind.kind != "SelfSubjectAccessReview":
        asked = User(str(spec.get("user", "")), tuple(spec.get("groups") or ()), str(spec.get("uid", "")))
    return {**made, "spec": spec, "status": {"allowed": allowed(kubernetes, asked, _wish(spec, namespace))}}


def _one_of_both() -> ApiError:
    why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
    problem = invalid_value("spec", None, why)
    message = f'.authorization.k8s.io "" is invalid: {problem["field"]}: {problem["message"]}'
    return ApiError(422, "Invalid", message, {"group": "authorization.k8s.io", "causes": [problem]})


def _wish(spec: Obj, namespace: str) -> Wish:
    at, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes") or {}
    if at is None:
        return Wish(verb=path.get("verb", ""), path=path.get("path", ""))
    return Wish(
        verb=at.get("verb", ""),
        group=at.get("group", ""),
        resource=at.get("resource", ""),
        subresource=at.get("subresource", ""),
        namespace=at.get("namespace", "") or namespace,
        name=at.get("name", ""),
    )


def _token(user: User | None) -> Obj:
    if user is None:
        return {"user": {}, "error": "invalid bearer token"}
    return {"authenticated": True, "user": user.info, "audiences": ["https://kubernetes.default.svc"]}


def _rules(kubernetes: Kubernetes, user: User, namespace: str) -> Obj:
    found: dict[str, list[Any]] = {"resourceRules": [], "nonResourceRules": []}
    for rule in rules_of(kubernetes, user, namespace):
        found["nonResourceRules" if rule.get("nonResourceURLs") else "resourceRules"].append(rule)
    return {**found, "incomplete": False}
