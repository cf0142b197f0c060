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
from talosmith.desired.outputs import talosconfig_text
from talosmith.desired.pki import read_certificate
from talosmith.desired.talosconfig import ADMIN
from talosmith.errors import Permanent
from talosmith.inventory.secure_file import write_secret
from talosmith.plan.step import Report
from talosmith.steps.action import OnCluster
from talosmith.steps.context import Context
from talosmith.steps.waiting import until

TALOSCONFIG, KUBECONFIG = "talosconfig", "kubeconfig"
_LIFETIME = timedelta(days=365)
_RENEW = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class WriteTalosconfig(OnCluster):
    name: ClassVar[str] = "files/talosconfig"
    makes: ClassVar[tuple[str, ...]] = ("file:talosconfig",)

    def describe(self) -> str:
        return f"write {TALOSCONFIG}"

    async def done(self, context: Context) -> bool:
        return talosconfig_serves(context.options.folder / TALOSCONFIG, context.desired.bundle)

    async def run(self, context: Context, report: Report) -> None:
        path = context.options.folder / TALOSCONFIG
        _refuse_foreign(path, talosconfig_is_ours(path, context.desired.bundle))
        context.may_write()
        cluster = context.desired.cluster
        write_secret(path, talosconfig_text(cluster, context.desired.bundle, (ADMIN,), _LIFETIME))


@dataclass(frozen=True, slots=True)
class WriteKubeconfig(OnCluster):
    name: ClassVar[str] = "files/kubeconfig"
    makes: ClassVar[tuple[str, ...]] = ("file:kubeconfig",)

    def describe(self) -> str:
        return f"write {KUBECONFIG}"

    async def done(self, context: Context) -> bool:
        return kubeconfig_serves(context.options.folder / KUBECONFIG, context.desired.bundle)

    async def run(self, context: Context, report: Report) -> None:
        path = context.options.folder / KUBECONFIG
        _refuse_foreign(path, kubeconfig_is_ours(path, context.desired.bundle))
        first = next(iter(context.desired.controlplanes)).name
        text = await until(context.configured(first).kubeconfig, report, "waiting for a kubeconfig")
        context.may_write()
        write_secret(path, text.reveal().encode())


def talosconfig_serves(path: Path, bundle: Bundle) -> bool:
    """It opens this cluster, and will for a while."""
    return talosconfig_is_ours(path, bundle) is True and _lasts(_talos_context(path).get("crt"))


def kubeconfig_serves(path: Path, bundle: Bundle) -> bool:
    return kubeconfig_is_ours(path, bundle) is True and _lasts(
        _entry(path, "users", "user").get("client-certificate-data")
    )


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
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
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
