"""What Talos asks of the documents about installation, the kernel, files, discovery and the container runtime."""

from __future__ import annotations

import base64
import binascii
from functools import partial
from typing import Any

from talosmith.desired.config.cel import check_expression
from talosmith.desired.config.check.findings import Findings, check_kind, complaint, error, missing, warning
from talosmith.desired.config.check.names import check_qualified_name
from talosmith.desired.config.check.node import check_overrides
from talosmith.desired.config.schema.gourl import parse_url

_FILES_OF_TALOS = ("resolv.conf", "hosts", "machine-id", "extensions.yaml", "localtime", "os-release", "xattr.conf")
_FOLDERS_OF_TALOS = (
    "apparmor.d", "apparmor", "ca-certificates", "cni", "cri", "iscsi", "kubernetes", "lvm", "nvme", "pki", "selinux",
    "ssl",
)  # fmt: skip
_SECRET_BYTES = 32


@check_kind("UnattendedInstallConfig")
def _install(document: Any) -> Findings:
    if not (document.get("installer") or {}).get("image"):
        yield warning("installer.image", "is not set: only a machine booted from Image Factory media can do without")
    match = ((document.get("provisioning") or {}).get("diskSelector") or {}).get("match")
    yield from complaint("provisioning.diskSelector.match", partial(check_expression, environment="disk"), match)


@check_kind("EtcFileConfig")
def _etc_file(document: Any) -> Findings:
    name = document.get("name") or ""
    folder = name.partition("/")[0]
    if not name or name.startswith((".", "/")) or _leaves(name):
        yield error("name", "is not the path of a file below /etc, like foo/bar.conf")
    elif name in _FILES_OF_TALOS or folder in _FOLDERS_OF_TALOS:
        yield error("name", "is a file that Talos writes itself")


def _leaves(path: str) -> bool:
    """Whether a path goes above where it starts."""
    depth = 0
    for part in path.split("/"):
        depth += -1 if part == ".." else part not in ("", ".")
        if depth < 0:
            return True
    return False


@check_kind("KernelModuleConfig")
def _kernel_module(document: Any) -> Findings:
    return missing(document, "name")


@check_kind("SysctlConfig", "SysfsConfig")
def _parameters(document: Any) -> Findings:
    if "" in (document.get("params") or {}):
        yield error("params", "has an empty key")


@check_kind("DiscoveryIdentityConfig")
def _identity(document: Any) -> Findings:
    yield from missing(document, "clusterID", "clusterSecret")
    if document.get("clusterSecret"):
        yield from complaint("clusterSecret", _check_secret, document["clusterSecret"])


def _check_secret(text: str) -> None:
    try:
        size = len(base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True))
    except (binascii.Error, ValueError):
        size = 0
    if size != _SECRET_BYTES:
        raise ValueError(f"is not {_SECRET_BYTES} bytes in base64")


@check_kind("DiscoveryServiceConfig")
def _discovery(document: Any) -> Findings:
    yield from missing(document, "name")
    url = parse_url(document.get("endpoint") or "")
    if url.scheme not in ("http", "https", "grpc") or not url.hostname:
        yield error("endpoint", "is not an http://, https:// or grpc:// address with a host")


@check_kind("CRIBaseRuntimeSpecConfig")
def _runtime_spec(document: Any) -> Findings:
    return check_overrides("overrides", document.get("overrides"))


@check_kind("CRICustomizationConfig")
def _customization(document: Any) -> Findings:
    yield from complaint("name", check_qualified_name, document.get("name"))
    if document.get("name") == "customization":
        yield error("name", "is reserved for the file of machine.files")
