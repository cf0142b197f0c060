"""Collects a support bundle: all at once, within limits; what does not answer is listed with its reason."""

from __future__ import annotations

import asyncio
import json
import platform
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from talosmith.engine.journal import Journal
from talosmith.errors import TalosmithError
from talosmith.observed.access import NodeAccess
from talosmith.providers.base import HasConsole
from talosmith.report.data import plain
from talosmith.session import Session
from talosmith.support import commands, kubernetes
from talosmith.support.archive import Files, SupportBundle, write
from talosmith.support.known_secrets import certificates, known_secrets
from talosmith.support.nodes import NodeCollector
from talosmith.support.scrub import Scrubber
from talosmith.tasks import in_thread

_NODES = 8  # at once
_RUNS = 5  # the latest ones
_CONSOLE = 500  # lines

Report = Callable[[str], None]


def default_path(cluster: str) -> Path:
    return Path(f"support-{cluster}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.zip")


async def collect(session: Session, path: Path, report: Report) -> SupportBundle:
    """Read-only. `report` hears of each node when it is done."""
    files = Files()
    secrets = known_secrets(session.desired, session.secrets)
    access = await session.access()
    await asyncio.gather(
        commands.collect(session.folder, files),
        _nodes(session, access, files, secrets, report),
        _kubernetes(session, files, report),
    )
    _versions(files)
    _journals(session.state_folder, files)
    about = {
        "cluster": session.cluster.name,
        "created": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "talosmith": metadata.version("talosmith"),
        "nodes": list(access.names),
    }
    scrubber = Scrubber(secrets, certificates(session.desired.bundle))
    return await in_thread(lambda: write(path, files, scrubber, about))


async def _nodes(session: Session, access: NodeAccess, files: Files, secrets: set[str], report: Report) -> None:
    room = asyncio.Semaphore(_NODES)
    done = 0

    async def one(name: str) -> None:
        nonlocal done
        async with room:
            wrong = await NodeCollector(name, access, files, secrets).collect()
            if isinstance(session.provider, HasConsole):
                await _console(session, name, files)
        done += 1
        count = sum(path.startswith(f"nodes/{name}/") for path in files.content)
        report(f"[{done}/{len(access.names)}] {name}: {count} files" + (f"; {wrong}" if wrong else ""))

    await asyncio.gather(*map(one, access.names))


async def _console(session: Session, name: str, files: Files) -> None:
    path = f"nodes/{name}/console.log"
    try:
        files.add(path, await session.console(name, _CONSOLE))
    except TalosmithError as wrong:
        files.miss(path, str(wrong))


async def _kubernetes(session: Session, files: Files, report: Report) -> None:
    try:
        async with await session.kubernetes() as kube:
            wrong = await kubernetes.collect(kube, files)
    except TalosmithError as failure:  # no control plane has a known address
        files.miss("kubernetes/", wrong := str(failure))
    report(f"Kubernetes: {wrong or 'nodes, pods, events'}")


def _versions(files: Files) -> None:
    installed = dict(sorted((one.name, one.version) for one in metadata.distributions()))
    found = {"talosmith": installed["talosmith"], "python": platform.python_version()}
    files.add_json("versions.json", {**found, "platform": platform.platform(), "packages": installed})


def _journals(folder: Path, files: Files) -> None:
    try:
        with Journal(folder) as journal:
            for run in journal.runs()[-_RUNS:]:
                lines = [json.dumps(plain(event)) for event in journal.events_of(run.number)]
                files.add(f"runs/{run.id}.jsonl", "\n".join([*lines, ""]))
    except TalosmithError as wrong:
        files.miss("runs/", str(wrong))
