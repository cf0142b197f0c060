"""What makes an object invalid: its name, and what a workload cannot do without or change later.

Everything else is accepted as it is; `lab: {kubernetes: real}` is for tests that want the API server's whole
opinion.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from talosmith_lab.kube import names
from talosmith_lab.kube.errors import cause, invalid, invalid_value, required
from talosmith_lab.kube.kinds import Kind, Obj
from talosmith_lab.kube.selectors import selects

Problems = Iterator[Obj]

_WORKLOADS = ("deployments.apps", "statefulsets.apps", "daemonsets.apps", "replicasets.apps")
_FIXED = {
    "deployments.apps": ("selector",),
    "daemonsets.apps": ("selector",),
    "replicasets.apps": ("selector",),
    "statefulsets.apps": ("selector", "serviceName", "podManagementPolicy", "volumeClaimTemplates"),
    "jobs.batch": ("selector", "template", "completionMode"),
}
_PODS = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_POD_FREE = ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "nodeName", "schedulingGates")


def check(kind: Kind, obj: Obj, before: Obj | None, subresource: str = "") -> None:
    """Raise everything that is wrong with an object, or with a change to it."""
    found = [*names.problems(kind, obj), *(names.update_problems(obj, before) if before else ())]
    if not kind.custom and subresource in ("", "scale"):
        found += [*_of_kind(kind, obj)]
        if before is not None:
            found += [*_unchangeable(kind, obj, before)]
    if found:
        raise invalid(kind, str(obj["metadata"].get("name", "")), found)


def _of_kind(kind: Kind, obj: Obj) -> Problems:
    spec = obj.get("spec") or {}
    if kind.resource in _WORKLOADS:
        yield from _workload(spec)
    elif kind.resource == "jobs.batch":
        yield from _pod_spec((spec.get("template") or {}).get("spec") or {}, "spec.template.spec")
    elif kind.resource == "pods":
        yield from _pod_spec(spec, "spec")
    elif kind.resource == "services":
        if not spec.get("ports") and spec.get("clusterIP") != "None" and spec.get("type") != "ExternalName":
            yield required("spec.ports")
    elif kind.resource == "customresourcedefinitions.apiextensions.k8s.io":
        yield from _definition(obj, spec)


def _workload(spec: Obj) -> Problems:
    if spec.get("replicas", 0) < 0:
        yield invalid_value("spec.replicas", spec["replicas"], "must be greater than or equal to 0")
    template = spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels")
    if spec.get("selector") is None:
        yield required("spec.selector")
    elif not selects(spec["selector"], labels or {}):
        shown = json.dumps(labels, separators=(",", ":")) if labels else "null"
        words = f"Invalid value: {shown}: `selector` does not match template `labels`"
        yield cause("FieldValueInvalid", words, "spec.template.metadata.labels")
    yield from _pod_spec(template.get("spec") or {}, "spec.template.spec")


def _pod_spec(spec: Obj, path: str) -> Problems:
    containers = spec.get("containers") or ()
    if not containers:
        yield required(f"{path}.containers")
    for place, container in enumerate(containers):
        where = f"{path}.containers[{place}]"
        if not container.get("name"):
            yield required(f"{where}.name")
        elif not names.is_label(container["name"]):
            yield invalid_value(f"{where}.name", container["name"], names.LABEL_RULE)
        if not container.get("image"):
            yield required(f"{where}.image")


def _definition(obj: Obj, spec: Obj) -> Problems:
    wanted = f"{(spec.get('names') or {}).get('plural', '')}.{spec.get('group', '')}"
    name = obj["metadata"].get("name", "")
    if name != wanted:
        yield invalid_value("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    if spec.get("scope") not in ("Cluster", "Namespaced"):
        words = f'Unsupported value: "{spec.get("scope", "")}": supported values: "Cluster", "Namespaced"'
        yield cause("FieldValueNotSupported", words, "spec.scope")
    versions = spec.get("versions") or ()
    for place, version in enumerate(versions):
        if (version.get("schema") or {}).get("openAPIV3Schema") is None:
            yield required(f"spec.versions[{place}].schema.openAPIV3Schema")
    if sum(bool(one.get("storage")) for one in versions) != 1:
        words = f"Invalid value: {json.dumps(versions)}: must have exactly one version marked as storage version"
        yield cause("FieldValueInvalid", words, "spec.versions")


def _unchangeable(kind: Kind, obj: Obj, old: Obj) -> Problems:
    spec, before = obj.get("spec") or {}, old.get("spec") or {}
    for name in _FIXED.get(kind.resource, ()):
        if spec.get(name) != before.get(name):
            text = json.dumps(spec.get(name), separators=(",", ":"))
            yield cause("FieldValueInvalid", f"Invalid value: {text}: field is immutable", f"spec.{name}")
    if kind.resource == "pods" and _pod_core(spec) != _pod_core(before):
        yield cause("FieldValueForbidden", f"Forbidden: {_PODS}\n", "spec")
    address = before.get("clusterIP") if kind.resource == "services" and spec.get("type") != "ExternalName" else None
    if address and spec.get("clusterIP") != address:
        shown = json.dumps([spec["clusterIP"]] if spec.get("clusterIP") else [])
        yield cause("FieldValueInvalid", f"Invalid value: {shown}: may not change once set", "spec.clusterIPs[0]")
    if kind.resource in ("configmaps", "secrets") and old.get("immutable") and obj.get("data") != old.get("data"):
        yield cause("FieldValueForbidden", "Forbidden: field is immutable when `immutable` is set", "data")
    if kind.kind in ("RoleBinding", "ClusterRoleBinding") and obj.get("roleRef") != old.get("roleRef"):
        text = json.dumps(obj.get("roleRef"), separators=(",", ":"))
        yield cause("FieldValueInvalid", f"Invalid value: {text}: cannot change roleRef", "roleRef")


def _pod_core(spec: Obj) -> Obj:
    """What of a pod's spec cannot change after creation."""
    core = {name: value for name, value in spec.items() if name not in _POD_FREE}
    for part in ("containers", "initContainers"):
        core[part] = [{**container, "image": ""} for container in spec.get(part) or ()]
    return core
