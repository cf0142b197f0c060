"""What people get wrong in other kinds than pods, and what cannot be changed later, in the API server's words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from talosmith_lab.kube.errors import cause, invalid_value, required
from talosmith_lab.kube.names import qualified
from talosmith_lab.kube.quantity import amount
from talosmith_lab.kube.schema import Obj
from talosmith_lab.kube.validation_pods import (
    PROTOCOLS,
    duplicate,
    forbidden,
    labels,
    pod_spec_problems,
    port_name,
    port_number,
    unsupported,
)

Problems = Iterator[Obj]
Check = Callable[[Obj], Problems]

_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  "
    "or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_PERCENT_RULE = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    "validation is '[0-9]+%')"
)
_NOT_NEGATIVE = "must be greater than or equal to 0"
_IMMUTABLE = "field is immutable"
_CLAIM_RULE = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)
_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_HIGHEST_PRIORITY = 1000000000
# What secrets of a type have to have.
_SECRET_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}


def _keys(obj: Obj, field: str) -> Problems:
    for key in obj.get(field) or {}:
        if not re.fullmatch("[-._a-zA-Z0-9]+", key):
            yield invalid_value(f"{field}[{key}]", key, _KEY_RULE)


def _config_map(obj: Obj) -> Problems:
    yield from _keys(obj, "data")
    for key in obj.get("data") or {}:
        if key in (obj.get("binaryData") or {}):
            yield invalid_value(f"data[{key}]", key, "duplicate of key present in binaryData")
    yield from _keys(obj, "binaryData")


def _secret(obj: Obj) -> Problems:
    yield from _keys(obj, "data")
    for key in _SECRET_KEYS.get(obj.get("type", ""), ()):
        if key not in (obj.get("data") or {}):
            yield required(f"data[{key}]")


def _service(obj: Obj) -> Problems:
    spec = obj.get("spec") or {}
    ports, kind = spec.get("ports") or (), spec.get("type", "ClusterIP")
    if not ports and spec.get("clusterIP") != "None" and kind != "ExternalName":
        yield required("spec.ports")
    if kind == "ExternalName" and not spec.get("externalName"):
        yield required("spec.externalName")
    seen: set[str] = set()
    for place, port in enumerate(ports):
        where, name = f"spec.ports[{place}]", port.get("name", "")
        if not name and len(ports) > 1:
            yield required(f"{where}.name")
        elif name and name in seen:
            yield duplicate(f"{where}.name", f'"{name}"')
        seen.add(name)
        yield from port_number(f"{where}.port", port.get("port", 0))
        if port.get("protocol", "TCP") not in PROTOCOLS:
            yield unsupported(f"{where}.protocol", port["protocol"], PROTOCOLS)
        target = port.get("targetPort")
        yield from (
            port_name(f"{where}.targetPort", target)
            if isinstance(target, str)
            else port_number(f"{where}.targetPort", target)
        )
    yield from labels("spec.selector", spec.get("selector"))
    if spec.get("sessionAffinity", "None") not in ("ClientIP", "None"):
        yield unsupported("spec.sessionAffinity", spec["sessionAffinity"], ("ClientIP", "None"))
    kinds = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
    if kind not in kinds:
        yield unsupported("spec.type", kind, kinds)
    yield from _same_ports(ports)


def _same_ports(ports: Any) -> Problems:
    seen: set[tuple[str, int]] = set()
    for place, port in enumerate(ports):
        key = (port.get("protocol", "TCP"), port.get("port", 0))
        if key in seen:
            shown = {
                "Name": "",
                "Protocol": key[0],
                "AppProtocol": None,
                "Port": key[1],
                "TargetPort": 0,
                "NodePort": 0,
            }
            yield duplicate(f"spec.ports[{place}]", json.dumps(shown, separators=(",", ":")))
        seen.add(key)


def _claim(obj: Obj) -> Problems:
    spec = obj.get("spec") or {}
    if not spec.get("accessModes"):
        yield required("spec.accessModes", "at least 1 access mode is required")
    for mode in spec.get("accessModes") or ():
        if mode not in _ACCESS_MODES:
            yield unsupported("spec.accessModes", mode, _ACCESS_MODES)
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if size is None:
        yield required("spec.resources[storage]")
    elif (amount(str(size)) or 0) <= 0:
        yield invalid_value("spec.resources[storage]", str(size), "must be greater than zero")


def _volume(obj: Obj) -> Problems:
    spec = obj.get("spec") or {}
    if not spec.get("accessModes"):
        yield required("spec.accessModes")
    if not spec.get("capacity"):
        yield required("spec.capacity")
        words = 'Unsupported value: null: supported values: "storage"'
        yield cause("FieldValueNotSupported", words, "spec.capacity")
    plain = ("accessModes", "capacity", "persistentVolumeReclaimPolicy", "volumeMode", "storageClassName", "claimRef",
             "mountOptions", "nodeAffinity", "volumeAttributesClassName")  # fmt: skip
    if not any(name not in plain for name in spec):
        yield required("spec", "must specify a volume type")


def deployment_problems(obj: Obj) -> Problems:
    """Beside what all workloads have in common."""
    spec = obj.get("spec") or {}
    if spec.get("selector") == {}:
        yield cause(
            "FieldValueInvalid", "Invalid value: {}: empty selector is invalid for deployment", "spec.selector"
        )
    strategy = spec.get("strategy") or {}
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind not in ("Recreate", "RollingUpdate"):
        shown = json.dumps({"Type": kind, "RollingUpdate": None}, separators=(",", ":"))
        words = f'Unsupported value: {shown}: supported values: "Recreate", "RollingUpdate"'
        yield cause("FieldValueNotSupported", words, "spec.strategy")
    elif kind == "Recreate" and rolling is not None:
        yield forbidden("spec.strategy.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")
    elif rolling and rolling.get("maxSurge") in (0, "0%") and rolling.get("maxUnavailable") in (0, "0%"):
        where = "spec.strategy.rollingUpdate.maxUnavailable"
        yield invalid_value(where, rolling["maxUnavailable"], "may not be 0 when `maxSurge` is 0")


def _job(obj: Obj) -> Problems:
    spec = obj.get("spec") or {}
    yield from _job_spec(spec, "spec")


def _job_spec(spec: Obj, path: str) -> Problems:
    for name in ("parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"):
        if spec.get(name) is not None and spec[name] < 0:
            yield invalid_value(f"{path}.{name}", spec[name], _NOT_NEGATIVE)
    template = (spec.get("template") or {}).get("spec") or {}
    yield from pod_spec_problems(template, f"{path}.template.spec")
    if template.get("restartPolicy", "Always") == "Always":
        yield required(f"{path}.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')


def _cron_job(obj: Obj) -> Problems:
    spec = obj.get("spec") or {}
    schedule = spec.get("schedule", "")
    parts = schedule.split()
    if not schedule:
        yield required("spec.schedule")
    elif not schedule.startswith("@") and len(parts) != 5:
        why = f"expected exactly 5 fields, found {len(parts)}: [{' '.join(parts)}]"
        yield invalid_value("spec.schedule", schedule, why)
    yield from _job_spec((spec.get("jobTemplate") or {}).get("spec") or {}, "spec.jobTemplate.spec")


def _budget(obj: Obj) -> Problems:
    spec = obj.get("spec") or {}
    if "minAvailable" in spec and "maxUnavailable" in spec:
        shown = {
            "MinAvailable": spec["minAvailable"],
            "Selector": spec.get("selector"),
            "MaxUnavailable": spec["maxUnavailable"],
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        text = json.dumps(shown, separators=(",", ":"))
        why = "minAvailable and maxUnavailable cannot be both set"
        yield cause("FieldValueInvalid", f"Invalid value: {text}: {why}", "spec")
    for name in ("minAvailable", "maxUnavailable"):
        value = spec.get(name)
        if isinstance(value, int) and value < 0:
            yield invalid_value(f"spec.{name}", value, _NOT_NEGATIVE)
        elif isinstance(value, str) and not re.fullmatch("[0-9]+%", value):
            yield invalid_value(f"spec.{name}", value, _PERCENT_RULE)


def _ingress(obj: Obj) -> Problems:
    spec = obj.get("spec") or {}
    if not spec.get("rules") and spec.get("defaultBackend") is None:
        yield cause(
            "FieldValueInvalid", "Invalid value: null: either `defaultBackend` or `rules` must be specified", "spec"
        )
    for place, rule in enumerate(spec.get("rules") or ()):
        host = rule.get("host", "")
        if re.fullmatch(r"[0-9]+(\.[0-9]+){3}|.*:.*", host):
            yield invalid_value(f"spec.rules[{place}].host", host, "must be a DNS name, not an IP address")
        for number, path in enumerate((rule.get("http") or {}).get("paths") or ()):
            yield from _ingress_path(path, f"spec.rules[{place}].http.paths[{number}]")


def _ingress_path(path: Obj, where: str) -> Problems:
    kinds = ("Exact", "ImplementationSpecific", "Prefix")
    kind = path.get("pathType")
    if kind is None:
        yield required(f"{where}.pathType", "pathType must be specified")
    elif kind not in kinds:
        yield unsupported(f"{where}.pathType", kind, kinds)
    elif kind != "ImplementationSpecific" and not str(path.get("path", "")).startswith("/"):
        yield invalid_value(f"{where}.path", path.get("path", ""), "must be an absolute path")
    service = (path.get("backend") or {}).get("service")
    if service is not None and not any((service.get("port") or {}).values()):
        yield required(f"{where}.backend", "port name or number is required")


def _binding(obj: Obj) -> Problems:
    role = obj.get("roleRef") or {}
    kinds = ("Role", "ClusterRole") if obj["kind"] == "RoleBinding" else ("ClusterRole",)
    if role.get("kind") not in kinds:
        yield unsupported("roleRef.kind", role.get("kind", ""), kinds)
    if not role.get("name"):
        yield required("roleRef.name")
    for place, subject in enumerate(obj.get("subjects") or ()):
        if not subject.get("name"):
            yield required(f"subjects[{place}].name")
        is_account = subject.get("kind") == "ServiceAccount"
        if is_account and not subject.get("namespace") and obj["kind"] == "ClusterRoleBinding":
            yield required(f"subjects[{place}].namespace")


def _role(obj: Obj) -> Problems:
    for place, rule in enumerate(obj.get("rules") or ()):
        where = f"rules[{place}]"
        if not rule.get("verbs"):
            yield required(f"{where}.verbs", "verbs must contain at least one value")
        if rule.get("nonResourceURLs"):
            continue
        if not rule.get("apiGroups"):
            yield required(f"{where}.apiGroups", "resource rules must supply at least one api group")
        if not rule.get("resources"):
            yield required(f"{where}.resources", "resource rules must supply at least one resource")


def _storage_class(obj: Obj) -> Problems:
    if not obj.get("provisioner"):
        yield required("provisioner")


def _priority_class(obj: Obj) -> Problems:
    if obj.get("value", 0) > _HIGHEST_PRIORITY and not obj["metadata"].get("name", "").startswith("system-"):
        yield forbidden("value", f"maximum allowed value of a user defined priority is {_HIGHEST_PRIORITY}")


def _node(obj: Obj) -> Problems:
    effects = ("NoSchedule", "PreferNoSchedule", "NoExecute")
    for place, taint in enumerate((obj.get("spec") or {}).get("taints") or ()):
        where = f"metadata.taints[{place}]"
        yield from qualified(f"{where}.key", taint.get("key", ""))
        if not taint.get("effect"):
            yield required(f"{where}.effect")
        elif taint["effect"] not in effects:
            yield unsupported(f"{where}.effect", taint["effect"], effects)


def _lease(obj: Obj) -> Problems:
    seconds = (obj.get("spec") or {}).get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        yield invalid_value("spec.leaseDurationSeconds", seconds, "must be greater than 0")


_RBAC = "rbac.authorization.k8s.io"
CHECKS: dict[tuple[str, str], Check] = {
    ("", "ConfigMap"): _config_map,
    ("", "Secret"): _secret,
    ("", "Service"): _service,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "PersistentVolume"): _volume,
    ("", "Node"): _node,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _cron_job,
    ("policy", "PodDisruptionBudget"): _budget,
    ("networking.k8s.io", "Ingress"): _ingress,
    (_RBAC, "Role"): _role,
    (_RBAC, "ClusterRole"): _role,
    (_RBAC, "RoleBinding"): _binding,
    (_RBAC, "ClusterRoleBinding"): _binding,
    ("storage.k8s.io", "StorageClass"): _storage_class,
    ("scheduling.k8s.io", "PriorityClass"): _priority_class,
    ("coordination.k8s.io", "Lease"): _lease,
}


def _claim_core(obj: Obj) -> Obj:
    free = ("resources", "volumeAttributesClassName", "volumeName")
    return {name: value for name, value in (obj.get("spec") or {}).items() if name not in free}


def unchangeable_problems(obj: Obj, before: Obj) -> Problems:
    """Of kinds that have just a few fields that stay."""
    if obj["kind"] == "StorageClass":
        for name in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
            if obj.get(name) != before.get(name):
                value = obj.get(name)
                if isinstance(value, str):
                    yield invalid_value(name, value, _IMMUTABLE)
                else:
                    yield forbidden(name, "updates to parameters are forbidden.")
    elif obj["kind"] == "PriorityClass" and obj.get("value") != before.get("value"):
        yield forbidden("value", "may not be changed in an update.")
    elif obj["kind"] == "Node":
        old, new = (before.get("spec") or {}).get("podCIDRs"), (obj.get("spec") or {}).get("podCIDRs")
        if old and old != new:
            yield forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')
    elif obj["kind"] == "PersistentVolumeClaim":
        if _claim_core(obj) != _claim_core(before):
            yield forbidden("spec", f"{_CLAIM_RULE}\n")
    elif obj["kind"] == "Job":
        old, new = (one.get("spec", {}).get("completions") for one in (before, obj))
        if old != new and (obj.get("spec") or {}).get("completionMode") != "Indexed":
            yield invalid_value("spec.completions", new, _IMMUTABLE)
