"""The files that open the cluster: talosconfig and kubeconfig, for their owner alone, never over somebody else's."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import yaml

from talosmith.desired.bundle import Bundle
from talosmith.desired.config.load import load
from talosmith.desired.outputs import talosconfig_text
from talosmith.desired.pki import read_certificate
from talosmith.desired.talosconfig import ADMIN
from talosmith.desired.target import Desired
from talosmith.errors import Permanent, Temporary
from talosmith.files.secret import write_secret
from talosmith.model.secret import Secret
from talosmith.observed.reach import Reach
from talosmith.plan.step import Report, Stage
from talosmith.steps.action import OnCluster
from talosmith.steps.context import Context
from talosmith.waiting import until
from talosmith.yaml.limits import check_limits

TALOSCONFIG, KUBECONFIG = "talosconfig", "kubeconfig"
_LIFETIME = timedelta(days=365)
_RENEW = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class WriteTalosconfig(OnCluster):
    area: ClassVar[str] = "files"
    verb: ClassVar[str] = TALOSCONFIG
    stage: ClassVar[Stage] = "files"
    makes: ClassVar[tuple[str, ...]] = ("file:talosconfig",)

    def describe(self) -> str:
        return f"write {TALOSCONFIG}"

    async def done(self, context: Context) -> bool:
        return talosconfig_serves(context.options.folder / TALOSCONFIG, context.desired, context.reach)

    async def run(self, context: Context, report: Report) -> None:
        path = context.options.folder / TALOSCONFIG
        _refuse_foreign(path, talosconfig_is_ours(path, context.desired.bundle))
        context.may_write()
        cluster, endpoints = context.desired.cluster, context.reach.talos_endpoints
        text = talosconfig_text(cluster, context.desired.bundle, (ADMIN,), _LIFETIME, endpoints=endpoints)
        write_secret(path, text)


@dataclass(frozen=True, slots=True)
class WriteKubeconfig(OnCluster):
    area: ClassVar[str] = "files"
    verb: ClassVar[str] = KUBECONFIG
    stage: ClassVar[Stage] = "files"
    makes: ClassVar[tuple[str, ...]] = ("file:kubeconfig",)

    def describe(self) -> str:
        return f"write {KUBECONFIG}"

    async def done(self, context: Context) -> bool:
        return kubeconfig_serves(context.options.folder / KUBECONFIG, context.desired)

    async def run(self, context: Context, report: Report) -> None:
        path = context.options.folder / KUBECONFIG
        _refuse_foreign(path, kubeconfig_is_ours(path, context.desired.bundle))
        text = await until(lambda: _kubeconfig(context), report, "waiting for a kubeconfig")
        context.may_write()
        write_secret(path, text.reveal().encode())


async def _kubeconfig(context: Context) -> Secret:
    """From the first control plane that has one to give: any of them may be dead."""
    last: Temporary | None = None
    for node in context.desired.controlplanes:
        try:
            return await context.configured(node.name).kubeconfig()
        except Temporary as wrong:
            last = last or wrong
    raise last or AssertionError("a cluster has a control plane")


def talosconfig_serves(path: Path, desired: Desired, reach: Reach) -> bool:
    """It opens this cluster by the control planes that it has now, and will for a while."""
    if not talosconfig_is_ours(path, desired.bundle):
        return False
    found = _talos_context(path)
    return found.get("endpoints") == [*reach.talos_endpoints] and _lasts(found.get("crt"))


def kubeconfig_serves(path: Path, desired: Desired) -> bool:
    """It opens this cluster at the endpoint that it has now, and will for a while."""
    if not kubeconfig_is_ours(path, desired.bundle):
        return False
    server = _entry(path, "clusters", "cluster").get("server")
    certificate = _entry(path, "users", "user").get("client-certificate-data")
    return server == _endpoint(desired) and _lasts(certificate)


def _endpoint(desired: Desired) -> str:
    """As control planes have it, and give it away: a patch may have another than the inventory."""
    first = next(iter(desired.controlplanes))
    return str(load(first.config.reveal(), first.name)[0]["cluster"]["controlPlane"]["endpoint"])


def talosconfig_is_ours(path: Path, bundle: Bundle) -> bool | None:
    """None: there is no such file."""
    if not path.exists():
        return None
    return _pem(_talos_context(path).get("ca")) == bundle.os.certificate.strip()


def kubeconfig_is_ours(path: Path, bundle: Bundle) -> bool | None:
    if not path.exists():
        return None
    found = _entry(path, "clusters", "cluster").get("certificate-authority-data")
    return _pem(found) == bundle.k8s.certificate.strip()


def _refuse_foreign(path: Path, ours: bool | None) -> None:
    if ours is False:
        raise Permanent(
            f"{path} is there already, and it is not this cluster's", hint="move it away; it is not written over"
        )


def _talos_context(path: Path) -> Mapping[str, Any]:
    data = _read(path)
    contexts = data.get("contexts")
    found = contexts.get(data.get("context")) if isinstance(contexts, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _entry(path: Path, section: str, field: str) -> Mapping[str, Any]:
    entries = _read(path).get(section)
    first = entries[0] if isinstance(entries, list) and entries else {}
    found = first.get(field) if isinstance(first, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _read(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        check_limits(text)
        data = yaml.safe_load(text)
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return {}
    return data if isinstance(data, Mapping) else {}


def _pem(encoded: object) -> str:
    try:
        return base64.b64decode(str(encoded), validate=True).decode().strip()
    except (binascii.Error, ValueError):
        return ""


def _lasts(encoded: object) -> bool:
    text = _pem(encoded)
    return bool(text) and read_certificate(text).not_valid_after_utc - datetime.now(UTC) > _RENEW
