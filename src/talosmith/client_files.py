"""kubeconfig and talosconfig: made from the secrets alone, written, or merged into the user's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from talosmith.desired.kubeconfig import context_name, new_kubeconfig
from talosmith.desired.outputs import talosconfig_text
from talosmith.errors import Permanent, TalosmithError
from talosmith.files.git import ignore_in_git, refuse_to_commit
from talosmith.model.machines import Machine
from talosmith.model.secret import Secret
from talosmith.observed.reach import Reach
from talosmith.observed.resources import learn_endpoint
from talosmith.providers.base import HasResources
from talosmith.session import Session
from talosmith.steps import files, merging
from talosmith.steps.files import KUBECONFIG, TALOSCONFIG

_PROVIDER_LIMIT = 10.0  # seconds, for what is only better with the provider's answer


@dataclass(frozen=True, slots=True)
class ClientFile:
    """A kubeconfig or talosconfig that was made and not written yet."""

    name: str  # of the file in the inventory folder
    text: Secret
    context: str
    expires: datetime


async def find_endpoint(session: Session) -> None:
    """Where the provider names the Kubernetes API: with the load balancer, which has to exist."""
    if not session.cluster.endpoint.to_come:
        return
    async with session:
        if isinstance(session.provider, HasResources):
            learn_endpoint(session.desired, session.provider, await session.provider.find_resources())
    if session.cluster.endpoint.to_come:
        raise Permanent(
            "the endpoint of the Kubernetes API is not known: it is the load balancer's own name, and the load "
            "balancer does not exist",
            hint="create the cluster first: `talosmith up` writes a kubeconfig, too",
        )


def make_kubeconfig(session: Session, user: str, groups: Sequence[str], lifetime: timedelta) -> ClientFile:
    name, ca = session.cluster.name, session.desired.bundle.k8s
    server, now = files.kubernetes_endpoint(session.desired), datetime.now(UTC)
    text = new_kubeconfig(name, ca, server, user=user, groups=groups, lifetime=lifetime, now=now)
    return ClientFile(KUBECONFIG, text, context_name(name, user), now + lifetime)


async def make_talosconfig(
    session: Session, roles: Sequence[str], lifetime: timedelta, note: Callable[[str], None] = lambda text: None
) -> ClientFile:
    """Endpoints are those that the provider knows; if it does not answer, the inventory's addresses."""
    machines: Mapping[str, Machine] = {}
    try:
        if session.provider.creates:
            async with asyncio.timeout(_PROVIDER_LIMIT):
                machines = {machine.name: machine for machine in await session.provider.find()}
    except (TalosmithError, TimeoutError) as problem:
        why = str(problem) or f"no answer within {_PROVIDER_LIMIT:g} s"
        note(f"note: endpoints are the inventory's addresses: provider {session.provider.name} failed: {why}")
    endpoints, now = Reach(session.cluster, machines).talos_endpoints, datetime.now(UTC)
    bundle = session.desired.bundle
    text = talosconfig_text(session.cluster, bundle, roles, lifetime, endpoints=endpoints, now=now)
    return ClientFile(TALOSCONFIG, Secret(text.decode()), session.cluster.name, now + lifetime)


def write(session: Session, made: ClientFile, path: Path | None = None) -> Path:
    """Into the inventory folder, or to `path`; never over a file of another cluster, nor where Git takes it."""
    if path is None:
        path = session.folder / made.name
        ignore_in_git(path)
    else:
        refuse_to_commit(path)
    files.write_client_file(path, made.name, made.text, session.desired.bundle)
    return path


def merge(made: ClientFile) -> tuple[Path, str]:
    """Into the user's own file; that file and the context in it."""
    if made.name == KUBECONFIG:
        return merging.users_kubeconfig(), merging.merge_kubeconfig(made.text, merging.users_kubeconfig())
    return merging.users_talosconfig(), merging.merge_talosconfig(made.text, merging.users_talosconfig())


def merge_written(session: Session) -> list[tuple[Path, str]]:
    """The files of the inventory folder into the user's own; each file with its context."""
    talos, kube = merging.users_talosconfig(), merging.users_kubeconfig()
    return [
        (talos, merging.merge_talosconfig(session.folder / TALOSCONFIG, talos)),
        (kube, merging.merge_kubeconfig(session.folder / KUBECONFIG, kube)),
    ]
