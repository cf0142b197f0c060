"""What makes an object invalid: names, labels and owners of all kinds, what people get wrong in the common ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from talosmith_lab.kube import custom, names
from talosmith_lab.kube.cluster import Kubernetes
from talosmith_lab.kube.errors import cause, invalid, invalid_value, required
from talosmith_lab.kube.kinds import Kind, Obj
from talosmith_lab.kube.selectors import selects
from talosmith_lab.kube.validation_kinds import CHECKS, deployment_problems, unchangeable_problems
from talosmith_lab.kube.validation_pods import pod_spec_problems, unsupported

Problems = Iterator[Obj]

_PODS = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_SCOPES = ("Cluster", "Namespaced")
_STATEFUL = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_STATEFUL_FREE = ("replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
                  "persistentVolumeClaimRetentionPolicy", "minReadySeconds")  # fmt: skip


def validate(kind: Kind, obj: Obj, before: Obj | None) -> list[Obj]:
    """Everything that is wrong with an object of a builtin kind, as causes of a refusal."""
    found = [] if before is None else [*names.update_problems(obj, before)]
    found += [*names.problems(kind, obj), *_of_kind(kind, obj)]
    if before is not None:
        found += [*_unchangeable(kind, obj, before), *unchangeable_problems(obj, before)]
    return found


def check_new(kubernetes: Kubernetes, kind: Kind, obj: Obj) -> None:
    found = validate(kind, obj, None)
    if kind.custom:
        found += _of_custom(kubernetes, kind, obj)
    if found:
        raise invalid(kind, str(obj["metadata"].get("name", "")), found)


def check_update(kubernetes: Kubernetes, kind: Kind, obj: Obj, old: Obj, subresource: str) -> None:
    if not kind.custom and subresource in ("", "scale"):
        found = validate(kind, obj, old)
    else:
        found = [*names.update_problems(obj, old), *names.problems(kind, obj)]
    if kind.custom:
        found += _of_custom(kubernetes, kind, obj)
    if found:
        raise invalid(kind, obj["metadata"]["name"], found)


def _of_custom(kubernetes: Kubernetes, kind: Kind, obj: Obj) -> list[Obj]:
    schema = kubernetes.schemas.get(f"{kind.api_version} {kind.kind}")
    return custom.problems(obj, schema) if schema is not None else []


def _of_kind(kind: Kind, obj: Obj) -> Problems:
    check = _CHECKS.get((kind.group, kind.kind))
    if check is not None:
        yield from check(obj)


def _workload(obj: Obj) -> Problems:
    spec = obj.get("spec") or {}
    if spec.get("replicas", 0) < 0:
        yield invalid_value("spec.replicas", spec["replicas"], "must be greater than or equal to 0")
    selector, template = spec.get("selector"), spec.get("template") or {}
    if selector is None and obj["kind"] != "DaemonSet":
        yield required("spec.selector")
    labels = (template.get("metadata") or {}).get("labels")
    if selector is None or not selects(selector, labels or {}):
        shown = json.dumps(labels, separators=(",", ":")) if labels else "null"
        yield cause(
            "FieldValueInvalid",
            f"Invalid value: {shown}: `selector` does not match template `labels`",
            "spec.template.metadata.labels",
        )
    pod = template.get("spec") or {}
    yield from pod_spec_problems(pod, "spec.template.spec")
    if pod.get("restartPolicy", "Always") in ("OnFailure", "Never"):
        yield unsupported("spec.template.spec.restartPolicy", pod["restartPolicy"], ("Always",))
    if obj["kind"] == "Deployment":
        yield from deployment_problems(obj)


def _pod(obj: Obj) -> Problems:
    yield from pod_spec_problems(obj.get("spec") or {}, "spec")


def _one_of(spec: Obj, name: str, known: tuple[str, ...]) -> Problems:
    if spec.get(name, known[0]) not in known:
        shown = ", ".join(f'"{one}"' for one in known)
        words = f'Unsupported value: "{spec[name]}": supported values: {shown}'
        yield cause("FieldValueNotSupported", words, f"spec.{name}")


def _event(obj: Obj) -> Problems:
    namespace = (obj.get("involvedObject") or {}).get("namespace", "")
    if namespace != obj["metadata"].get("namespace", "") and namespace:
        yield invalid_value("involvedObject.namespace", namespace, "does not match event.namespace")


def _definition(obj: Obj) -> Problems:
    spec = obj.get("spec") or {}
    wanted = f"{(spec.get('names') or {}).get('plural', '')}.{spec.get('group', '')}"
    name = obj["metadata"].get("name", "")
    if name != wanted:
        yield invalid_value("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    yield from _one_of(spec, "scope", _SCOPES)
    for place, version in enumerate(spec.get("versions") or ()):
        schema = (version.get("schema") or {}).get("openAPIV3Schema")
        if schema is None:
            yield required(f"spec.versions[{place}].schema.openAPIV3Schema")
    if spec.get("versions") and sum(bool(one.get("storage")) for one in spec["versions"]) != 1:
        yield cause(
            "FieldValueInvalid",
            f"Invalid value: {json.dumps(spec['versions'])}: must have exactly one version marked as storage version",
            "spec.versions",
        )


_CHECKS: dict[tuple[str, str], Callable[[Obj], Problems]] = {
    **CHECKS,
    ("apps", "Deployment"): _workload,
    ("apps", "StatefulSet"): _workload,
    ("apps", "DaemonSet"): _workload,
    ("apps", "ReplicaSet"): _workload,
    ("", "Pod"): _pod,
    ("", "Event"): _event,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
}


# What cannot be changed


def _unchangeable(kind: Kind, obj: Obj, old: Obj) -> Problems:
    spec, before = obj.get("spec") or {}, old.get("spec") or {}
    if kind.group == "apps" and kind.kind in ("Deployment", "DaemonSet", "ReplicaSet"):
        yield from _fixed(spec, before, "selector", "spec")
    elif kind.resource == "statefulsets.apps":
        changed = {name for name in spec.keys() | before.keys() if spec.get(name) != before.get(name)}
        if changed - set(_STATEFUL_FREE):
            yield cause("FieldValueForbidden", f"Forbidden: {_STATEFUL}", "spec")
    elif kind.resource == "jobs.batch":
        for name in ("selector", "template", "completionMode"):
            yield from _fixed(spec, before, name, "spec")
    elif kind.resource in ("configmaps", "secrets"):
        yield from _sealed(kind, obj, old)
    elif kind.resource == "pods":
        if _pod_core(spec) != _pod_core(before):
            yield cause("FieldValueForbidden", f"Forbidden: {_PODS}\n", "spec")
    elif kind.resource == "services":
        if (
            before.get("clusterIP")
            and spec.get("clusterIP") != before["clusterIP"]
            and spec.get("type") != "ExternalName"
        ):
            shown = json.dumps([spec["clusterIP"]] if spec.get("clusterIP") else [])
            yield cause("FieldValueInvalid", f"Invalid value: {shown}: may not change once set", "spec.clusterIPs[0]")
    elif kind.kind in ("RoleBinding", "ClusterRoleBinding") and obj.get("roleRef") != old.get("roleRef"):
        reference = obj.get("roleRef") or {}
        role = {"APIGroup": reference.get("apiGroup"), "Kind": reference.get("kind"), "Name": reference.get("name")}
        text = json.dumps(role, separators=(",", ":"))
        yield cause("FieldValueInvalid", f"Invalid value: {text}: cannot change roleRef", "roleRef")


def _fixed(spec: Obj, before: Obj, name: str, path: str) -> Problems:
    if spec.get(name) != before.get(name):
        text = json.dumps(spec.get(name), separators=(",", ":"))
        yield cause("FieldValueInvalid", f"Invalid value: {text}: field is immutable", f"{path}.{name}")


def _sealed(kind: Kind, obj: Obj, old: Obj) -> Problems:
    if kind.kind == "Secret" and obj.get("type") != old.get("type"):
        yield invalid_value("type", obj.get("type"), "field is immutable")
    if not old.get("immutable"):
        return
    why = "Forbidden: field is immutable when `immutable` is set"
    if not obj.get("immutable"):
        yield cause("FieldValueForbidden", why, "immutable")
    for name in ("data", "binaryData"):
        if (obj.get(name) or {}) != (old.get(name) or {}):
            yield cause("FieldValueForbidden", why, name)


def _pod_core(spec: Obj) -> Any:
    """What of a pod's spec stays as it was made."""
    free = ("containers", "initContainers", "activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds",
            "ephemeralContainers", "nodeName", "schedulingGates")  # fmt: skip
    core = {name: value for name, value in spec.items() if name not in free}
    for part in ("containers", "initContainers"):
        core[part] = [{**container, "image": "", "resources": {}} for container in spec.get(part) or ()]
    return core
