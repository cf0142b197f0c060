"""Defaults of pods, of the templates of pods in other kinds, and of what stands in them."""

from __future__ import annotations

from talosmith_lab.kube.schema import Obj

_MODE = 0o644
# The fields of volumes that are none of these say where it comes from; without one it is an empty folder.
_NO_SOURCE = ("name",)
_SOURCE_DEFAULTS: dict[str, Obj] = {
    "azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
    "hostPath": {"type": ""},
    "configMap": {"defaultMode": _MODE},
    "secret": {"defaultMode": _MODE},
    "downwardAPI": {"defaultMode": _MODE},
    "projected": {"defaultMode": _MODE},
    "image": {},
}


def fill_pod(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
        _requests_from_limits(container)
    if "enableServiceLinks" not in spec:
        spec["enableServiceLinks"] = True
    fill_pod_spec(spec)
    if spec.get("hostNetwork"):
        for container in [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]:
            for port in container.get("ports") or ():
                if not port.get("hostPort"):
                    port["hostPort"] = port.get("containerPort", 0)


def fill_pod_template(template: Obj) -> None:
    fill_pod_spec(template.setdefault("spec", {}))


def _requests_from_limits(container: Obj) -> None:
    resources = container.get("resources") or {}
    limits = resources.get("limits")
    if limits:
        resources["requests"] = {**limits, **(resources.get("requests") or {})}


def fill_pod_spec(spec: Obj) -> None:
    if not spec.get("dnsPolicy"):
        spec["dnsPolicy"] = "ClusterFirst"
    if not spec.get("restartPolicy"):
        spec["restartPolicy"] = "Always"
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    spec.setdefault("terminationGracePeriodSeconds", 30)
    if not spec.get("schedulerName"):
        spec["schedulerName"] = "default-scheduler"
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:  # the older name is kept up beside the newer one
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for name in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(name) or ():
            _container(container)
    for volume in spec.get("volumes") or ():
        _volume(volume)


def _container(container: Obj) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = "Always" if _is_latest(container.get("image", "")) else "IfNotPresent"
    if not container.get("terminationMessagePath"):
        container["terminationMessagePath"] = "/dev/termination-log"
    if not container.get("terminationMessagePolicy"):
        container["terminationMessagePolicy"] = "File"
    for port in container.get("ports") or ():
        if not port.get("protocol"):
            port["protocol"] = "TCP"
    for variable in container.get("env") or ():
        _reference((variable.get("valueFrom") or {}).get("fieldRef"))
        _file_reference((variable.get("valueFrom") or {}).get("fileKeyRef"))
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(name) is not None:
            _probe(container[name])
    for handler in (container.get("lifecycle") or {}).values():
        if isinstance(handler, dict):
            _http_get(handler.get("httpGet"))


def _is_latest(image: str) -> bool:
    """Whether an image's tag moves: no tag and no digest, or the tag `latest`."""
    if "@" in image:
        return False
    tag = image.rpartition("/")[2].partition(":")[2]
    return tag in ("", "latest")


def _probe(probe: Obj) -> None:
    for name, value in (
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ):
        if not probe.get(name):
            probe[name] = value
    _http_get(probe.get("httpGet"))
    if probe.get("grpc") is not None:
        probe["grpc"].setdefault("service", "")


def _http_get(action: Obj | None) -> None:
    if action is None:
        return
    if not action.get("path"):
        action["path"] = "/"
    if not action.get("scheme"):
        action["scheme"] = "HTTP"


def _reference(selector: Obj | None) -> None:
    if selector is not None and not selector.get("apiVersion"):
        selector["apiVersion"] = "v1"


def _file_reference(selector: Obj | None) -> None:
    if selector is not None:
        selector.setdefault("optional", False)


def _volume(volume: Obj) -> None:
    if not any(value is not None for name, value in volume.items() if name not in _NO_SOURCE):
        volume["emptyDir"] = {}
    for source, values in _SOURCE_DEFAULTS.items():
        place = volume.get(source)
        if place is not None:
            for name, value in values.items():
                place.setdefault(name, value)
    for item in (volume.get("downwardAPI") or {}).get("items") or ():
        _reference(item.get("fieldRef"))
    for source_ in (volume.get("projected") or {}).get("sources") or ():
        if source_.get("serviceAccountToken") is not None:
            source_["serviceAccountToken"].setdefault("expirationSeconds", 3600)
        for item in (source_.get("downwardAPI") or {}).get("items") or ():
            _reference(item.get("fieldRef"))
    claim = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
    if claim is not None:
        claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
    if volume.get("image") is not None and not volume["image"].get("pullPolicy"):
        moves = _is_latest(volume["image"].get("reference", ""))
        volume["image"]["pullPolicy"] = "Always" if moves else "IfNotPresent"


def fill_volume_claim(obj: Obj) -> None:
    spec = obj.setdefault("spec", {})
    spec.setdefault("volumeMode", "Filesystem")
    for name in ("dataSource", "dataSourceRef"):
        if spec.get(name) is not None:
            spec[name].setdefault("apiGroup", None)
    status = obj.setdefault("status", {})
    if not status.get("phase"):
        status["phase"] = "Pending"
