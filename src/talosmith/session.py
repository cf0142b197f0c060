"""A cluster, open for work: from its inventory to a plan, and from the plan to its run.

The library's way in and the command line's only one:

    async with Session.open(Path("home")) as session:
        plan = await session.plan("up")
        async with session.writing("up"):
            outcome = await session.run(plan)
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from talosmith.desired.bundle import Bundle
from talosmith.desired.secrets_file import Secrets, create_secrets, has_secrets, read_secrets
from talosmith.desired.target import Desired, owner_of
from talosmith.engine.folder import cluster_folder, make_folder
from talosmith.errors import InventoryError, PlanBlocked, Problem, UsageError, no_such
from talosmith.events import Event, Events, Listener
from talosmith.inventory import check, load
from talosmith.inventory.sources import find
from talosmith.model.allowed import EVERYTHING, Allowed
from talosmith.model.cluster import Cluster
from talosmith.observed.machines import machines_by_name
from talosmith.observed.observe import observe
from talosmith.observed.reach import Reach
from talosmith.observed.world import Observed, Unknown
from talosmith.plan.builder import Selection
from talosmith.plan.step import Plan, kind_of
from talosmith.providers import provider_for
from talosmith.providers.base import Finding, HasConsole, Provider
from talosmith.talos import Limits, MaintenanceClient, TalosClient
from talosmith.tasks import in_thread
from talosmith.waiting import between_looks, limited

if TYPE_CHECKING:  # what only some commands need is imported by them: the rest asks its first question sooner
    from talosmith.desired.addons import AddonSources
    from talosmith.engine.holder import Holder
    from talosmith.engine.lock import ClusterLock
    from talosmith.engine.runner import Outcome
    from talosmith.engine.stopping import Stopping
    from talosmith.kube import KubeClient
    from talosmith.model.machines import Machine
    from talosmith.observed.access import NodeAccess
    from talosmith.observed.config_differences import ConfigDifference
    from talosmith.observed.health import Health
    from talosmith.observed.root_causes import RootCause
    from talosmith.steps.context import Context

_LIMITS = Limits(connect_timeout=5.0)
_LOOK = "see `talosmith status`"
_SETTLE = 0.2  # seconds: changes come in bursts
_LOOK_AGAIN = 0.5  # seconds, after a machine that does not answer


class Session:
    def __init__(self, cluster: Cluster, folder: Path, secrets: Secrets, *, new_secrets: bool = False) -> None:
        self.folder = folder
        self.desired = Desired(cluster, secrets.bundle)
        self.new_secrets = new_secrets  # made in memory, not kept yet
        self.observed: Observed | None = None
        self.addon_sources: AddonSources | None = None  # read when add-ons are first asked for
        self.warnings: tuple[Problem, ...] = ()  # of the inventory
        self.refused: tuple[Problem, ...] = ()  # by `up`, unless it is told to allow them
        self.tell: Callable[[str], None] = lambda text: None  # what takes long before there is a run, for people
        self._secrets = secrets
        self._stack = AsyncExitStack()
        self._lock: ClusterLock | None = None

    @classmethod
    def open(
        cls,
        inventory: Path | None = None,
        environment: str | None = None,
        *,
        new_secrets: bool = False,
        allow: Collection[Allowed] = (),
    ) -> Session:
        """`new_secrets`: if there are none, create them, and write them once the first run begins.

        `allow`: what `up` does although talosmith advises against it.
        """
        report = check(inventory, environment, machines=True, allow=EVERYTHING)
        folder = find(inventory, environment).parent
        cluster = report.cluster
        if new_secrets and not has_secrets(folder):
            bundle = Bundle.generate(contract=cluster.talos_version.line)
            session = cls(cluster, folder, Secrets(bundle), new_secrets=True)
        else:
            session = cls(cluster, folder, read_secrets(folder))
        refused = {one: error for one, (name, error) in report.allowed.items() if name not in allow}
        session.refused = tuple(refused.values())
        session.warnings = tuple(one for one in report.warnings if one not in refused)
        return session

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
    def cluster(self) -> Cluster:
        """Of the inventory; its endpoint may become known only with the load balancer."""
        return self.desired.cluster

    @property
    def secrets(self) -> Secrets:
        """What the secrets file holds."""
        return self._secrets

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
            kube=self.kube_at,
        )
        return self.observed

    async def follow(self, every: float = 2.0) -> AsyncIterator[Observed]:
        """The observed state now, and again soon after a node reports a change, at least each `every` seconds."""
        from talosmith.observed.listening import Listener as ChangeListener

        while True:
            observed = await self.observe()
            yield observed
            nodes = {one.address: one for one in observed.all_nodes.values() if one.configured}
            async with ChangeListener(
                [self.talos.node(place, one.name) for place, one in nodes.items()], None
            ) as heard:
                await heard.listen(every)
            await asyncio.sleep(_SETTLE)

    def kube_at(self, addresses: Sequence[str]) -> KubeClient:
        from talosmith.kube import KubeClient

        return KubeClient.from_bundle(self.desired.bundle, addresses)

    async def plan(self, name: str, selection: Selection | None = None, **options: Any) -> Plan[Context]:
        """What the operation `name`, a module of `talosmith.operations`, would do now; `options` are its own."""
        if name == "up" and self.refused:
            raise InventoryError(self.refused)
        observed = await self.observe()
        from talosmith.operations.operation import operation
        from talosmith.plan_facts import addon_options, facts_for, with_evictions, with_leftovers

        chosen = operation(name).OPTIONS(selection=selection or Selection(), **options)
        _check_targets(chosen.selection, observed)
        if chosen.installs_addons and chosen.selection.includes("addon"):
            observed = await self.with_addons(observed, **addon_options(chosen))
        if chosen.deletes_resources:
            observed = self.observed = await with_leftovers(self, observed)
        facts = await facts_for(self, observed, chosen)
        plan = operation(name).build(self.desired, observed, chosen, facts)
        return self._timed(await with_evictions(self, plan, observed))

    async def with_addons(
        self, observed: Observed, *, take_over: Sequence[str] = (), delete: Sequence[str] = ()
    ) -> Observed:
        """With the add-ons of the inventory rendered, and compared with what the cluster has."""
        from talosmith.plan_facts import with_addons

        self.observed = await with_addons(self, observed, take_over, delete)
        return self.observed

    async def read_addons(self, *, offline: bool = False) -> AddonSources:
        """Charts and manifests of the add-ons, read once; `offline`: by the cache alone."""
        if self.addon_sources is None:
            from talosmith.addon_sources import read_sources

            read = partial(read_sources, self.cluster, self.folder, offline=offline, pulling=self._pulling)
            self.addon_sources = await in_thread(read)
            self.desired.use_addons(self.addon_sources, self._secrets)
            await in_thread(lambda: self.desired.addons)  # rendered here: the event loop goes on meanwhile
        return self.addon_sources

    def _pulling(self, addons: list[str]) -> None:
        self.tell(f"pulling the charts of {', '.join(addons)}")

    async def config_differences(self, names: Sequence[str] = ()) -> tuple[ConfigDifference, ...]:
        """How the machine configs of these nodes, or of all, differ from the inventory now."""
        for name in names:
            if name not in self.desired.nodes:
                raise no_such("node", name, self.desired.nodes, otherwise=_LOOK)
        from talosmith.observed.config_differences import config_differences

        return config_differences(self.desired, await self.observe(), names or self.desired.nodes)

    async def health(
        self, report: Callable[[str], None] = lambda text: None, limit: float = 0.0, *, ends_without_cni: bool = False
    ) -> Health:
        """All checks of a healthy cluster and the root causes of those that fail. With a limit, health is waited for;
        `ends_without_cni`: not where the cluster lacks nothing but a CNI.
        """
        from talosmith.observed.health import Unhealthy, diagnosed, look_once, wait_healthy
        from talosmith.observed.root_causes import RootCause

        machines = partial(machines_by_name, self.provider)
        known = self.observed.machines if self.observed is not None else await machines()
        reach = Reach(self.cluster, known or {})
        async with self.kube_at(reach.kubernetes_hosts) as kube:
            look = partial(look_once, self.desired, self.talos, kube, reach=reach)
            found, flapped = await look(), ""
            if limit and not all(verdict.ok for _, verdict in found):
                try:
                    await wait_healthy(
                        self.desired,
                        self.talos,
                        kube,
                        reach=reach,
                        report=report,
                        limit=limit,
                        between=between_looks(simulated=self.provider.simulated),
                        ends_without_cni=ends_without_cni,
                    )
                except Unhealthy as wrong:
                    flapped = str(wrong)
                found = await look()
        health = await diagnosed(self.desired, found, machines, self.folder)
        if flapped and health.healthy:
            return replace(health, causes=(RootCause(kind="unstable", cause=flapped),))
        return health

    async def _machines(self) -> Mapping[str, Machine]:
        """Those that were observed, or that the provider has; empty where it cannot be asked."""
        if self.observed is not None:
            return self.observed.machines
        return await machines_by_name(self.provider) or {}

    async def causes(self, observed: Observed) -> tuple[RootCause, ...]:
        """Why the cluster, as it was just observed, is not healthy; empty also before etcd is bootstrapped."""
        return (await self.health()).causes if observed.bootstrapped is True else ()

    async def examine(self) -> list[Finding]:
        """What `doctor` reports: on this computer, the provider, the nodes and, if it exists, the cluster."""
        from talosmith.observed.doctor import examine, exists

        observed = await self.observe()
        health = await self.health() if exists(observed, self.provider) else None
        folders = (self.folder, self.state_folder)
        return await examine(self.desired, self.provider, self.talos, folders, observed, health)

    async def access(self) -> NodeAccess:
        """The way to single nodes, for looking into them."""
        from talosmith.observed.access import NodeAccess

        return NodeAccess(
            self.desired,
            self.provider,
            self.talos,
            self.maintenance,
            await self._machines(),
            refresh=self._machines,
        )

    async def kubernetes(self) -> KubeClient:
        """A client of the cluster's Kubernetes API, by the control planes' own addresses."""
        return self.kube_at(Reach(self.cluster, await self._machines()).kubernetes_hosts)

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
            if seen.to_be_created
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
        from talosmith.engine.run_id import new_run_id
        from talosmith.engine.runner import run as run_plan
        from talosmith.engine.stopping import Stopping
        from talosmith.steps.context import Context, RunOptions

        stopping = stopping or Stopping()
        if plan.blocked:
            raise PlanBlocked(f"plan is blocked: {'; '.join(map(str, plan.blocked))}", hint="see `talosmith plan`")
        if self.new_secrets:
            create_secrets(self.folder, self.desired.bundle)
        if self.addon_sources is not None:
            from talosmith.addon_sources import write_lock

            write_lock(self.addon_sources, self.folder)
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
                check_lock=self._lock.check,
                note=lambda text: events.emit("note", text),
                stop_wanted=lambda: stopping.ending,
            )
            if self.observed is not None:
                context.remember_machines(self.observed)
            async with context:
                return await run_plan(
                    plan,
                    context,
                    events,
                    stopping=stopping,
                    check_lock=self._lock.check,
                    limit=limit,
                    labels={"run": new_run_id(time.time()), "folder": str(self.folder.absolute())},
                )

    def last_events(self) -> list[Event]:
        """Of the latest run."""
        from talosmith.engine.journal import Journal

        with Journal(self.state_folder) as journal:
            runs = journal.runs()
            return journal.events_of(runs[-1].number) if runs else []


def state_folder_of(inventory: Path | None = None, environment: str | None = None) -> Path | None:
    """Where journal and lock of the inventory's cluster are; None without secrets: such a cluster has no runs yet.

    Clusters of the same name in different folders have different secrets, and so different state folders.
    """
    cluster, folder = load(inventory, environment), find(inventory, environment).parent
    if not has_secrets(folder):
        return None
    return cluster_folder(cluster.name, owner_of(cluster, read_secrets(folder).bundle).id)


def _check_targets(selection: Selection, observed: Observed) -> None:
    """A node that does not exist is a typing error, not a plan with nothing in it."""
    for name in selection.targets:
        known = (*observed.nodes, *observed.not_in_inventory)
        if name not in known:
            raise no_such("node", name, known, otherwise=_LOOK)
