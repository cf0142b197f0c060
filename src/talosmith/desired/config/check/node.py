"""What Talos asks of a node's Kubernetes settings, wherever they stand: in the main document or in others."""

from __future__ import annotations

from typing import Any

from talosmith.desired.config.check.findings import Findings, complaint, error
from talosmith.desired.config.check.names import check_label_value, check_qualified_name, check_taint
from talosmith.desired.config.check.runtime_spec import check_runtime_spec
from talosmith.govalues import address_or_prefix

_KUBELET_FIELDS_OF_TALOS = (
    "apiVersion", "authentication", "authorization", "cgroupRoot", "kind", "kubeletCgroups", "port",
    "protectKernelDefaults", "resolvConf", "rotateCertificates", "systemCgroups", "staticPodPath", "seccompDefault",
)  # fmt: skip
_ROLES = tuple(f"os:{name}" for name in (
    "admin", "operator", "reader", "etcd:backup", "image:verifier", "meta:writer", "impersonator",
))  # fmt: skip
_ANNOTATIONS_OF_TALOS = tuple(f"talos.dev/owned-{what}" for what in ("labels", "annotations", "taints"))
_ANNOTATIONS_LIMIT = 256 * 1024


def check_subnets(path: str, subnets: Any) -> Findings:
    """Addresses and networks, each with or without a `!` before it."""
    for entry in subnets or ():
        yield from complaint(path, address_or_prefix, entry.removeprefix("!"))


def check_kubelet_config(path: str, config: Any) -> Findings:
    for name in _KUBELET_FIELDS_OF_TALOS:
        if name in (config or {}):
            yield error(f"{path}.{name}", "is set by Talos itself")


def check_roles(path: str, roles: Any) -> Findings:
    if not all(name in _ROLES for name in roles or ()):
        yield error(path, f"has one that is none of {', '.join(_ROLES)}")


def check_labels(path: str, labels: Any) -> Findings:
    for key, value in (labels or {}).items():
        yield from complaint(f'{path}["{key}"]', check_qualified_name, key)
        yield from complaint(f'{path}["{key}"]', check_label_value, value)


def check_annotations(path: str, annotations: Any) -> Findings:
    for key in annotations or {}:
        yield from complaint(f'{path}["{key}"]', check_qualified_name, key)
        if key in _ANNOTATIONS_OF_TALOS:
            yield error(f'{path}["{key}"]', "is set by Talos itself")
    size = sum(len(key.encode()) + len(value.encode()) for key, value in (annotations or {}).items())
    if size > _ANNOTATIONS_LIMIT:
        yield error(path, f"are more than {_ANNOTATIONS_LIMIT} bytes together")


def check_taints(path: str, taints: Any) -> Findings:
    for key, value in (taints or {}).items():
        yield from complaint(f'{path}["{key}"]', check_qualified_name, key)
        yield from complaint(f'{path}["{key}"]', check_taint, value)


def check_resources(path: str, resources: Any) -> Findings:
    for part in ("requests", "limits"):
        if any(key not in ("cpu", "memory") for key in (resources or {}).get(part) or ()):
            yield error(f"{path}.{part}", "knows only cpu and memory")


def check_overrides(path: str, overrides: Any) -> Findings:
    """Overrides of the OCI runtime spec that have its types."""
    for wrong in check_runtime_spec(overrides or {}):
        yield error(f"{path}.{wrong}", "has not the type that the OCI runtime spec gives it")
