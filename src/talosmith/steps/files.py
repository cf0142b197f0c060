"""The files that open the cluster: talosconfig and kubeconfig, mode 0600, never over another cluster's."""

from __future__ import annotations

import asyncio
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
from talosmith.desired.target import Desired
from talosmith.errors import Permanent, Temporary
from talosmith.files.git import ignore_in_git
from talosmith.files.secret import write_secret
from talosmith.model.secret import Secret
from talosmith.observed.former_names import names_of
from talosmith.observed.reach import Reach
from talosmith.plan.step import Report, Stage, StepKey
from talosmith.steps.action import OnCluster
from talosmith.steps.context import Context
from talosmith.waiting import until
from talosmith.yaml.limits import check_limits

TALOSCONFIG, KUBECONFIG = "talosconfig", "kubeconfig"
_LIFETIME = timedelta(days=365)
_RENEW = timedelta(days=30)
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # every plan reads both files


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
        context.check_lock()
        cluster, endpoints = context.desired.cluster, context.reach.talos_endpoints
        text = talosconfig_text(cluster, context.desired.bundle, (ADMIN,), _LIFETIME, endpoints=endpoints)
        await asyncio.to_thread(ignore_in_git, path)
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
        text = await until(lambda: _kubeconfig(context), report, "waiting for the kubeconfig")
        context.check_lock()
        await asyncio.to_thread(ignore_in_git, path)
        write_secret(path, text.reveal().encode())


@dataclass(frozen=True, slots=True)
class DeleteClientFile(OnCluster):
    """A file whose certificates open a cluster that no longer exists. One of another cluster is kept."""

    file: str

    area: ClassVar[str] = "files"
    stage: ClassVar[Stage] = "removal"

    @property
    def key(self) -> StepKey:
        return StepKey(self.area, verb=f"delete-{self.file}")

    def describe(self) -> str:
        return f"delete {self.file} of the inventory folder"

    def calls(self) -> tuple[str, ...]:
        return (f"file:{self.file}",)

    async def done(self, context: Context) -> bool:
        return not is_ours(context.options.folder, self.file, context.desired.bundle)

    async def run(self, context: Context, report: Report) -> None:
        if not await self.done(context):
            context.check_lock()
            try:
                (context.options.folder / self.file).unlink(missing_ok=True)
            except OSError as problem:
                raise Permanent(
                    f"cannot delete {context.options.folder / self.file}: {problem.strerror or problem}",
                    hint="check the folder's permissions, then run the command again",
                ) from problem


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
    """Whether it has this cluster's name, CA and endpoints as they are now, and a certificate that lasts."""
    if not talosconfig_is_ours(path, desired.bundle):
        return False
    found = _talos_context(path)
    named = _read(path).get("context") == desired.cluster.name
    return named and found.get("endpoints") == [*reach.talos_endpoints] and _lasts(found.get("crt"))


def kubeconfig_serves(path: Path, desired: Desired) -> bool:
    """Whether it has this cluster's name, CA and endpoint as they are now, and a certificate that lasts."""
    if not kubeconfig_is_ours(path, desired.bundle):
        return False
    named = cluster_names(path.parent, desired.bundle).get(path.name) in names_of(desired)
    server = _entry(path, "clusters", "cluster").get("server")
    certificate = _entry(path, "users", "user").get("client-certificate-data")
    return named and server == kubernetes_endpoint(desired) and _lasts(certificate)


def kubernetes_endpoint(desired: Desired) -> str:
    """As the machine config of control planes has it: a patch may set another one than the inventory."""
    return desired.meaning.endpoint


def talosconfig_is_ours(path: Path, bundle: Bundle) -> bool | None:
    """None: the file does not exist."""
    if not path.exists():
        return None
    return _pem(_talos_context(path).get("ca")) == bundle.os.certificate.strip()


def kubeconfig_is_ours(path: Path, bundle: Bundle) -> bool | None:
    if not path.exists():
        return None
    found = _entry(path, "clusters", "cluster").get("certificate-authority-data")
    return _pem(found) == bundle.k8s.certificate.strip()


def is_ours(folder: Path, name: str, bundle: Bundle) -> bool:
    """Whether the folder has this file (talosconfig or kubeconfig), and it opens the cluster of these secrets."""
    is_this = talosconfig_is_ours if name == TALOSCONFIG else kubeconfig_is_ours
    return is_this(folder / name, bundle) is True


def cluster_names(folder: Path, bundle: Bundle) -> dict[str, str]:
    """By file of the folder that opens this cluster: the name that it has for the cluster."""
    names = {}
    if is_ours(folder, TALOSCONFIG, bundle):
        names[TALOSCONFIG] = str(_read(folder / TALOSCONFIG).get("context"))
    if is_ours(folder, KUBECONFIG, bundle):
        names[KUBECONFIG] = str(_read(folder / KUBECONFIG)["clusters"][0].get("name"))
    return names


def write_client_file(path: Path, name: str, text: Secret, bundle: Bundle) -> None:
    """Write a talosconfig or kubeconfig (`name`) for its owner alone; a file of another cluster is kept."""
    is_ours = talosconfig_is_ours if name == TALOSCONFIG else kubeconfig_is_ours
    _refuse_foreign(path, is_ours(path, bundle))
    write_secret(path, text.reveal().encode())


def _refuse_foreign(path: Path, ours: bool | None) -> None:
    if ours is False:
        raise Permanent(
            f"{path} already exists and belongs to another cluster",
            hint=f"mv {path} {path}.old; talosmith does not overwrite it",
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
        data = yaml.load(text, Loader=_LOADER)  # noqa: S506 - it is a safe one
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return {}
    return data if isinstance(data, Mapping) else {}


def _pem(encoded: object) -> str:
    try:
        return base64.b64decode(str(encoded), validate=True).decode().strip()
    except (binascii.Error, ValueError):
        return ""


def _lasts(encoded: object) -> bool:
    """Valid for another month; a short-lived certificate, for another tenth of its lifetime."""
    text = _pem(encoded)
    if not text:
        return False
    certificate = read_certificate(text)
    lifetime = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    return certificate.not_valid_after_utc - datetime.now(UTC) > min(_RENEW, lifetime / 10)
