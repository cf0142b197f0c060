"""A cluster, open for work: from its inventory to a plan, and from the plan to its run.

The library's way in and the command line's only one:

    async with Session.open(Path("home")) as session:
        plan = await session.plan(up, up.UpOptions())
        async with session.writing("up"):
            outcome = await session.run(plan)
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from talosmith.desired.bundle import Bundle
from talosmith.desired.secrets_file import Secrets, create_secrets, has_secrets, read_secrets
from talosmith.desired.target import Desired
from talosmith.engine.folder import cluster_folder, make_folder
from talosmith.errors import Permanent, TalosmithError, UsageError, no_such
from talosmith.events import Event, Events, Listener
from talosmith.inventory import load
from talosmith.inventory.sources import find
from talosmith.model.cluster import Cluster
from talosmith.observed.observe import observe
from talosmith.observed.reach import Reach
from talosmith.observed.world import Observed, Unknown
from talosmith.plan.builder import Selection
from talosmith.plan.step import Plan, kind_of
from talosmith.providers import provider_for
from talosmith.providers.base import Finding, HasConsole, Provider, capabilities
from talosmith.talos import Limits, MaintenanceClient, TalosClient
from talosmith.waiting import between_looks, limited

if TYPE_CHECKING:  # what only some commands need is imported by them: the rest asks its first question sooner
    from talosmith.engine.holder import Holder
    from talosmith.engine.lock import ClusterLock
    from talosmith.engine.runner import Outcome
    from talosmith.engine.stopping import Stopping
    from talosmith.kube import KubeClient
    from talosmith.model.machines import Machine
    from talosmith.observed.conditions import Check, Verdict
    from talosmith.operations.operation import Chosen, Operation
    from talosmith.steps.context import Context

_LIMITS = Limits(connect_timeout=5.0)
_LOOK = "see `talosmith status`"
_LOOK_AGAIN = 0.5  # seconds, after a machine that does not answer


class Session:
    def __init__(self, cluster: Cluster, folder: Path, secrets: Secrets, *, new_secrets: bool = False) -> None:
        self.cluster = cluster
        self.folder = folder
        self.desired = Desired(cluster, secrets.bundle)
        self.new_secrets = new_secrets  # made in memory, not kept yet
        self.observed: Observed | None = None
        self._secrets = secrets
        self._stack = AsyncExitStack()
        self._lock: ClusterLock | None = None

    @classmethod
    def open(
        cls, inventory: Path | None = None, environment: str | None = None, *, new_secrets: bool = False
    ) -> Session:
        """`new_secrets`: if there are none, make them, and keep them once the first run begins."""
        cluster, folder = load(inventory, environment), find(inventory, environment).parent
        if new_secrets and not has_secrets(folder):
            bundle = Bundle.generate(contract=min(cluster.talos_version.line, (1, 13)))
            return cls(cluster, folder, Secrets(bundle), new_secrets=True)
        return cls(cluster, folder, read_secrets(folder))

    async def __aenter__(self) -> Self:
        self.provider: Provider = provider_for(self.cluster, self.desired.owner, self._secrets)
        self._stack.push_async_callback(self.provider.close)
        self.talos = await self._stack.enter_async_context(
            TalosClient.from_bundle(self.desired.bundle, limits=_LIMITS)
        )
        self.maintenance = await self._stack.enter_async_context(MaintenanceClient(limits=_LIMITS))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    @property
    def state_folder(self) -> Path:
        """Where the journal and the lock of this cluster are."""
        return cluster_folder(self.cluster.name, self.desired.owner.id)

    # Looking and planning: nothing is changed

    async def observe(self) -> Observed:
        self.observed = await observe(
            self.desired,
            self.provider,
            self.talos,
            self.maintenance,
            kube=self._kube,
        )
        return self.observed

    def _kube(self, addresses: Sequence[str]) -> KubeClient:
        from talosmith.kube import KubeClient

        return KubeClient.from_bundle(self.desired.bundle, addresses)

    async def plan(
        self, operation: Operation[Chosen], options: Chosen, observed: Observed | None = None
    ) -> Plan[Context]:
        """What an operation, a module of `talosmith.operations`, would do: now, or in a state just observed."""
        observed = observed or await self.observe()
        from talosmith.operations.operation import Facts

        _check_targets(options.selection, observed)
        missing = self._missing_files(Reach(self.cluster, observed.machines))
        facts = Facts(capabilities=capabilities(self.provider), missing_files=missing)
        return self._timed(operation.build(self.desired, observed, options, facts))

    async def health(self, report: Callable[[str], None], limit: float = 0.0) -> list[tuple[Check, Verdict]]:
        """All conditions of a healthy cluster. With a limit they are waited for; `Unhealthy` is raised at its end."""
        from talosmith.observed.health import look_once, wait_healthy

        reach = Reach(self.cluster, await self._machines())
        look = partial(look_once, self.desired, self.talos, reach=reach)
        async with self._kube(reach.kubernetes_hosts) as kube:
            found = await look(kube)
            if limit and not all(verdict.ok for _, verdict in found):
                between = between_looks(simulated=self.provider.simulated)
                await wait_healthy(
                    self.desired, self.talos, kube, reach=reach, report=report, limit=limit, between=between
                )
                found = await look(kube)
        return found

    async def _machines(self) -> Mapping[str, Machine]:
        """Those that were observed, or that the provider has; where none can be asked, nodes are where planned."""
        if self.observed is not None:
            return self.observed.machines
        if not self.provider.creates:  # it would look for the machines by their nodes
            return {}
        with suppress(TalosmithError):
            return {machine.name: machine for machine in await self.provider.find()}
        return {}

    async def console(self, name: str, lines: int) -> str:
        """The last lines that a node's machine wrote on its console."""
        if not isinstance(self.provider, HasConsole):
            raise UsageError(f"{self.provider.name} shows no consoles", hint="look at the machine itself")
        machines = {machine.name: machine for machine in await self.provider.find()}
        if name not in machines:
            raise no_such("machine of the node", name, machines, otherwise=_LOOK)
        return await self.provider.console(machines[name], lines)

    async def preflight(
        self, waiting: Callable[[Finding], None] = lambda finding: None, *, patience: float = 0.0
    ) -> list[Finding]:
        """Whether the machines that are to be made, or to get their first config, are ready for it.

        A machine that does not answer may be booting, or rebooting with the config that another run has applied: it
        is waited for, up to `patience` seconds, and told to `waiting` each time.
        """
        observed = self.observed or await self.observe()
        running = observed.bootstrapped is True  # then a machine that does not answer is one thing among others
        new = [
            self.desired.nodes[name].machine
            for name, seen in observed.nodes.items()
            if seen.machine is None
            or seen.stage == "maintenance"
            or (isinstance(seen.stage, Unknown) and not running and not self.provider.creates)
        ]
        found = await self.provider.preflight(new)
        async with limited(patience):
            while silent := [finding for finding in found if finding.transient]:
                for finding in silent:
                    waiting(finding)
                await asyncio.sleep(_LOOK_AGAIN)
                found = await self.provider.preflight(new)
        return found

    def _missing_files(self, reach: Reach) -> tuple[str, ...]:
        from talosmith.steps.files import KUBECONFIG, TALOSCONFIG, kubeconfig_serves, talosconfig_serves

        serving = {
            TALOSCONFIG: talosconfig_serves(self.folder / TALOSCONFIG, self.desired, reach),
            KUBECONFIG: kubeconfig_serves(self.folder / KUBECONFIG, self.desired),
        }
        return tuple(name for name, serves in serving.items() if not serves)

    def _timed(self, plan: Plan[Context]) -> Plan[Context]:
        """With the times that such steps took before."""
        from talosmith.engine.journal import Journal

        with Journal(self.state_folder) as journal:
            expected = journal.expected(self.cluster.name)
        steps = tuple(
            replace(step, expected=expected.get(kind_of(step.key, step.subject), step.expected)) for step in plan
        )
        return replace(plan, steps=steps)

    # Changing

    @asynccontextmanager
    async def writing(
        self,
        command: str,
        *,
        force_unlock: str = "",
        wait: float = 0.0,
        waiting: Callable[[Holder], None] | None = None,
    ) -> AsyncIterator[ClusterLock]:
        """To be the one who changes this cluster."""
        from talosmith.engine.lock import ClusterLock

        make_folder(self.state_folder)
        lock = ClusterLock(self.state_folder, command)
        async with lock.held(wait=wait, force=force_unlock, waiting=waiting or (lambda holder: None)):
            self._lock = lock
            try:
                yield lock
            finally:
                self._lock = None

    async def run(
        self,
        plan: Plan[Context],
        *,
        listeners: Sequence[Listener] = (),
        trust_first_use: bool = False,
        stopping: Stopping | None = None,
        limit: float = math.inf,
    ) -> Outcome:
        """`limit`: seconds that a step may take, if it would give itself more."""
        if self._lock is None:
            raise AssertionError("a plan is run inside `writing`")
        from talosmith.engine.journal import Journal
        from talosmith.engine.runner import run as run_plan
        from talosmith.engine.stopping import Stopping
        from talosmith.steps.context import Context, RunOptions

        stopping = stopping or Stopping()
        if plan.blocked:
            raise Permanent(f"this is not done: {'; '.join(plan.blocked)}", hint="see `talosmith plan`")
        if self.new_secrets:
            create_secrets(self.folder, self.desired.bundle)
            self.new_secrets = False
        with Journal(self.state_folder, write=True) as journal:
            events = Events(journal.listener, *listeners)
            if journal.lost:
                events.emit("note", f"{journal.lost} entries of the run before are missing: it was cut short")
            options = RunOptions(folder=self.folder, trust_first_use=trust_first_use)
            context = Context(
                desired=self.desired,
                provider=self.provider,
                talos=self.talos,
                maintenance=self.maintenance,
                options=options,
                may_write=self._lock.check,
                told=lambda text: events.emit("note", text),
                stop_wanted=lambda: stopping.ending,
            )
            if self.observed is not None:
                context.know(self.observed)
            async with context:
                return await run_plan(
                    plan, context, events, stopping=stopping, may_write=self._lock.check, limit=limit
                )

    def merge_files(self) -> list[tuple[Path, str]]:
        """Puts this cluster into the user's own talosconfig and kubeconfig; where, and under which name."""
        from talosmith.steps.files import KUBECONFIG, TALOSCONFIG
        from talosmith.steps.merging import merge_kubeconfig, merge_talosconfig, users_kubeconfig, users_talosconfig

        talos, kube = users_talosconfig(), users_kubeconfig()
        return [
            (talos, merge_talosconfig(self.folder / TALOSCONFIG, talos)),
            (kube, merge_kubeconfig(self.folder / KUBECONFIG, kube)),
        ]

    def last_events(self) -> list[Event]:
        """Of the latest run."""
        from talosmith.engine.journal import Journal

        with Journal(self.state_folder) as journal:
            runs = journal.runs()
            return journal.events_of(runs[-1].id) if runs else []


def _check_targets(selection: Selection, observed: Observed) -> None:
    """A node that does not exist is a typing error, not a plan with nothing in it."""
    for name in selection.targets:
        known = (*observed.nodes, *observed.others)
        if name not in known:
            raise no_such("node", name, known, otherwise=_LOOK)
