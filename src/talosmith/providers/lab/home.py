"""The background process of a cluster's lab: made with the first machine, gone with the last."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from talosmith.errors import Permanent, TalosmithError, Temporary, UsageError
from talosmith.providers.base import Finding
from talosmith.providers.lab import process
from talosmith.providers.lab.calls import LabCalls
from talosmith.providers.lab.client import LabClient
from talosmith.providers.lab.process import Made, Place
from talosmith.tasks import in_thread

T = TypeVar("T")
ID_DIGITS = 8  # of the cluster's id, in the name of its lab


class Calls(Protocol):
    async def __call__(self, what: str, **arguments: Any) -> Any: ...


class Home(Protocol):
    """Where the machines of one cluster live."""

    name: str

    async def enter(self) -> Calls | None:
        """None if there is no lab. One that was stopped is started again, for it has the machines."""

    async def make(self) -> Calls:
        """The same; a lab that does not exist is created."""

    async def delete(self) -> None:
        """With all machines in it."""

    def look(self) -> list[Finding]:
        """Whether the lab can be created with the wanted settings."""

    async def others_with(self, cluster_id: str) -> dict[str, list[dict[str, Any]]]:
        """By cluster name: machines of other labs with this cluster id; of a lab that is stopped, none are listed."""


class BackgroundLab:
    def __init__(self, name: str, made: Made) -> None:
        self.name = name
        self._made = made
        self._starting = asyncio.Lock()

    async def enter(self) -> Calls | None:
        if not self._place.exists():
            return None
        client = await self._started(self._there)
        return None if client is None else LabCalls(client)

    async def make(self) -> Calls:
        return LabCalls(await self._started(lambda: self._there() or process.start(self.name, self._made)))

    async def delete(self) -> None:
        await _in_thread(lambda: process.stop(self.name, delete=True))

    def look(self) -> list[Finding]:
        place, found = self._place, []
        holder = process.holder_of(self._made.network, but=self.name)
        if holder is not None:
            found.append(
                Finding(
                    level="error",
                    check="the lab's network",
                    cause=f"{self._made.network} is in use by the lab {holder.name!r}",
                    evidence=f"{holder.name!r} has {holder.made().network}",
                    fix="set `network.node_cidr` to another part of 127.0.0.0/8, or delete that lab with its "
                    f"machines: talosmith lab stop {holder.name} --delete",
                )
            )
        kept = place.made() if place.exists() else self._made
        try:
            process.look_for_programs(kept)
        except UsageError as problem:
            found.append(Finding(level="error", check="the lab's Kubernetes", cause=str(problem), fix=problem.hint))
        for what, was, wanted in (
            ("Kubernetes", f"kubernetes: {kept.kubernetes}", f"kubernetes: {self._made.kubernetes}"),
            ("clock", f"clock: {kept.clock}", f"clock: {self._made.clock}"),
        ):
            if was != wanted:
                found.append(
                    Finding(
                        level="warning",
                        check=f"the lab's {what}",
                        cause=f"the lab {self.name!r} was made with `{was}`, and keeps it",
                        evidence=f"the inventory says `{wanted}`",
                        fix="destroy the cluster and bring it up again to change it",
                    )
                )
        return found or [Finding(level="ok", check="the lab", evidence=self.name)]

    async def others_with(self, cluster_id: str) -> dict[str, list[dict[str, Any]]]:
        return await _in_thread(lambda: _others_with(cluster_id, self.name))

    @property
    def _place(self) -> Place:
        return Place(self.name)

    async def _started(self, start: Callable[[], T]) -> T:
        async with self._starting:
            return await _in_thread(start)

    def _there(self) -> LabClient | None:
        """None if the lab does not exist, or was just deleted."""
        place = self._place
        if not (place.runs() and place.running_file.exists()):
            return process.start_again(self.name)
        try:
            return place.client()
        except (UsageError, Permanent) as gone:  # it stopped in the very moment
            raise Temporary(str(gone), hint=gone.hint) from None


def _others_with(cluster_id: str, own: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for place in process.labs():
        cluster, _, digits = place.name.rpartition("-")
        if digits != cluster_id[:ID_DIGITS] or place.name == own:
            continue
        machines: list[dict[str, Any]] = []
        if place.runs() and place.running_file.exists():
            with suppress(TalosmithError):  # it stopped in the very moment
                machines = place.client().machines()
        found[cluster] = machines
    return found


async def _in_thread(work: Callable[[], T]) -> T:
    try:
        return await in_thread(work)
    except UsageError as problem:
        raise Permanent(str(problem), hint=problem.hint) from None
    except OSError as problem:
        raise Permanent(f"the lab's files: {problem}", hint=f"see {process.labs_folder()}") from None
