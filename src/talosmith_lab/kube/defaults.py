"""What the API server fills into objects where a client said nothing, kind by kind.

Only what it fills in on reading; what it works out while writing (addresses, tolerations, names) is not here.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from talosmith_lab.kube.defaults_pods import fill_pod, fill_pod_template, fill_volume_claim
from talosmith_lab.kube.defaults_setup import SETUP
from talosmith_lab.kube.schema import Obj

Fill = Callable[[Obj], None]

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def fill_defaults(obj: Obj) -> Obj:
    """The object with its defaults; the one that was given is not changed."""
    group = str(obj.get("apiVersion", "")).rpartition("/")[0]
    fill = _FILLS.get((group, str(obj.get("kind", ""))))
    if fill is None:
        return obj
    copy: Obj = copied(obj)
    fill(copy)
    return copy


def copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: copied(inner) for name, inner in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


def _template(spec: Obj) -> None:
    fill_pod_template(spec.setdefault("template", {}))


def _deployment(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    _template(spec)
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    strategy = spec.setdefault("strategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")


def _stateful_set(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    _template(spec)
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        strategy.setdefault("rollingUpdate", {}).setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    for claim in spec.get("volumeClaimTemplates") or ():
        claim.setdefault("kind", "PersistentVolumeClaim")
        claim.setdefault("apiVersion", "v1")
        fill_volume_claim(claim)


def _daemon_set(obj: Obj) -> None:
    metadata = obj.setdefault("metadata", {})
    metadata["annotations"] = {_TEMPLATE_GENERATION: "1", **(metadata.get("annotations") or {})}
    spec = obj.setdefault("spec", {})
    _template(spec)
    spec.setdefault("revisionHistoryLimit", 10)
    strategy = spec.setdefault("updateStrategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)


def _replica_set(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    _template(spec)


def _replication_controller(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        if not obj["metadata"].get("labels"):
            obj["metadata"]["labels"] = dict(labels)
    if spec.get("template"):
        fill_pod_template(spec["template"])


def _job(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    _template(spec)
    labels = (spec["template"].get("metadata") or {}).get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", 2147483647 if "backoffLimitPerIndex" in spec else 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("manualSelector", False)
    spec.setdefault("podReplacementPolicy", "Failed" if spec.get("podFailurePolicy") else "TerminatingOrFailed")
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for condition in rule.get("onPodConditions") or ():
            condition.setdefault("status", "True")


def _cron_job(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    _template(spec.setdefault("jobTemplate", {}).setdefault("spec", {}))


def _service(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    if not spec.get("sessionAffinity"):
        spec["sessionAffinity"] = "None"
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        config = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        config.setdefault("timeoutSeconds", 10800)
    kind = spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if not port.get("targetPort"):
            port["targetPort"] = port.get("port", 0)
    if kind in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in ("ClusterIP", "NodePort", "LoadBalancer"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


def _secret(obj: Obj) -> None:
    if not obj.get("type"):
        obj["type"] = "Opaque"
    for name, text in (obj.pop("stringData", None) or {}).items():
        obj.setdefault("data", {})[name] = base64.b64encode(text.encode()).decode()


def _namespace(obj: Obj) -> None:
    metadata = obj.setdefault("metadata", {})
    if metadata.get("name"):
        metadata["labels"] = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata["name"]}
    status = obj.setdefault("status", {})
    if not status.get("phase"):
        status["phase"] = "Active"


def _node(obj: Obj) -> None:
    spec = obj.get("spec") or {}
    if spec.get("podCIDR") and not spec.get("podCIDRs"):
        spec["podCIDRs"] = [spec["podCIDR"]]
    status = obj.get("status") or {}
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = dict(status["capacity"])


def _volume(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    if spec.get("hostPath") is not None:
        spec["hostPath"].setdefault("type", "")
    status = obj.setdefault("status", {})
    if not status.get("phase"):
        status["phase"] = "Pending"


def _endpoints(obj: Obj) -> None:
    for subset in obj.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def _endpoint_slice(obj: Obj) -> None:
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def _limit_range(obj: Obj) -> None:
    for item in (obj.get("spec") or {}).get("limits") or ():
        if item.get("type") == "Container":
            item["default"] = {**(item.get("max") or {}), **(item.get("default") or {})}
            requests = {**(item.get("min") or {}), **item["default"], **(item.get("defaultRequest") or {})}
            item["defaultRequest"] = requests


def _pod_template(obj: Obj) -> None:
    _template(obj)


_FILLS: dict[tuple[str, str], Fill] = {
    ("", "Pod"): fill_pod,
    ("", "PodTemplate"): _pod_template,
    ("", "ReplicationController"): _replication_controller,
    ("", "Service"): _service,
    ("", "Secret"): _secret,
    ("", "Namespace"): _namespace,
    ("", "Node"): _node,
    ("", "PersistentVolume"): _volume,
    ("", "PersistentVolumeClaim"): fill_volume_claim,
    ("", "Endpoints"): _endpoints,
    ("", "LimitRange"): _limit_range,
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "ReplicaSet"): _replica_set,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _cron_job,
    ("discovery.k8s.io", "EndpointSlice"): _endpoint_slice,
    **SETUP,
}
