"""An inventory whose add-ons go into a real API server, planned and run by talosmith's own code.

Machines and Talos are left out: there is an API server with its controllers, and a stand-in for kubelets.
"""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from talosmith.addon_sources import read_sources
from talosmith.call_log import LOGGER
from talosmith.desired.secrets_file import Secrets
from talosmith.desired.target import Desired
from talosmith.engine.runner import Outcome, run
from talosmith.errors import Temporary
from talosmith.events import Event, Events, Listener
from talosmith.inventory import load
from talosmith.kube import KubeClient, KubeError, Object, Ref
from talosmith.kube.objects import metadata, spec, status
from talosmith.kube.objects import notes as annotations
from talosmith.observed.addons import look_at_addons
from talosmith.observed.world import AddonsSeen, Observed, Unknown
from talosmith.operations.addons import install_addons, kinds_to_delete
from talosmith.operations.up import UpOptions
from talosmith.plan.builder import PlanBuilder, Selection
from talosmith.plan.step import Plan
from talosmith.steps.context import Context, RunOptions
from tests.real.kube.apiserver import ApiServer
from tests.real.kube.patience import PATIENCE, PATIENT

INVENTORY = """\
cluster_name: real
talos_version: v1.13.9
kubernetes_version: v1.36.3
lab: {}
network: {node_cidr: 127.5.0.0/24}
controlplane: 1
"""
NODE = "kubelet-standin"
_REVISION = "deployment.kubernetes.io/revision"


@dataclass
class RealAddons:
    """A folder with charts and an inventory, and the cluster whose add-ons it describes."""

    server: ApiServer
    client: KubeClient
    folder: Path
    unique: str  # the suffix of the names of its own add-ons
    kubectl_path: Path
    events: list[Event] = field(default_factory=list)
    listeners: list[Listener] = field(default_factory=list)
    _rendered: dict[int, Desired] = field(default_factory=dict, repr=False)

    def chart(self, name: str, templates: Mapping[str, str], *, values: str = "{}", version: str = "1.0.0") -> Path:
        """Write a chart of our own, or what has changed of it. `crds/…` are not templates."""
        folder = self.folder / "charts" / name
        for path, text in {
            "Chart.yaml": f"apiVersion: v2\nname: {name}\nversion: {version}\n",
            "values.yaml": values,
            **{file if "/" in file else f"templates/{file}": text for file, text in templates.items()},
        }.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        return folder

    def write(self, **addons: Mapping[str, Any]) -> None:
        """The inventory; names of add-ons are those of charts."""
        own = {f"{name}-{self.unique}": {"chart": f"./charts/{name}", **one} for name, one in addons.items()}
        (self.folder / "cluster.yaml").write_text(INVENTORY + yaml.safe_dump({"addons": own}))

    def name(self, addon: str) -> str:
        return f"{addon}-{self.unique}"

    def ref(self, api_version: str, kind: str, name: str, addon: str) -> Ref:
        return Ref(api_version, kind, name, self.name(addon))

    def desired(self) -> Desired:
        """Rendered anew if a file has changed."""
        files = sorted(path for path in self.folder.rglob("*") if path.suffix in (".yaml", ".tpl"))
        state = hash(tuple((path, path.stat().st_mtime_ns) for path in files))
        if state not in self._rendered:
            cluster = load(self.folder)
            desired = Desired(cluster, self.server.bundle)
            desired.use_addons(read_sources(cluster, self.folder), Secrets(self.server.bundle))
            self._rendered[state] = desired
        return self._rendered[state]

    async def plan(self, **options: Any) -> Plan[Context]:
        return (await self._planned(**options))[1]

    async def up(self, **options: Any) -> Outcome:
        """Planned and run. What happened is in `events`."""
        desired, plan = await self._planned(**options)
        self.events.clear()
        context = Context(
            desired=desired,
            provider=None,  # type: ignore[arg-type]  # these three no step of add-ons asks
            talos=None,  # type: ignore[arg-type]
            maintenance=None,  # type: ignore[arg-type]
            options=RunOptions(folder=self.folder),
        )
        context._kube[context.reach.kubernetes_hosts] = self.client
        return await run(plan, context, Events(self.events.append, *self.listeners))

    async def must_up(self, **options: Any) -> None:
        outcome = await self.up(**options)
        assert not outcome.failed and not outcome.left, {key: str(wrong) for key, wrong in outcome.failed.items()}

    async def _planned(self, **options: Any) -> tuple[Desired, Plan[Context]]:
        desired, chosen = self.desired(), UpOptions(**options)
        seen: AddonsSeen | Unknown
        try:
            found = await look_at_addons(
                self.client, desired.addons, take_over=chosen.take_over, delete=kinds_to_delete(chosen)
            )
            # Other tests have add-ons of theirs in the same cluster.
            ours = {name: one for name, one in found.not_in_inventory.items() if name.endswith(self.unique)}
            seen = replace(found, not_in_inventory=ours)
        except Temporary as wrong:
            seen = Unknown(str(wrong))
        plan = PlanBuilder[Context]("up", desired.cluster.name)
        install_addons(plan, desired, Observed(at=time.time(), nodes={}, kubernetes={}, addons=seen), chosen)
        return desired, plan.freeze(chosen.selection)

    def said(self, *kinds: str) -> list[str]:
        return [event.text for event in self.events if event.kind in kinds]

    @property
    def unwaited(self) -> Selection:
        """For who has no pods."""
        return Selection(skip=("*/ready",))

    def kubectl(self, *arguments: str) -> str:
        return self.tool(self.kubectl_path, *arguments)

    def tool(self, *command: str | Path, given: str = "") -> str:
        """The output of kubectl or helm, which must succeed."""
        environment = {"HOME": str(self.folder), "KUBECONFIG": str(self.server.kubeconfig), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            list(map(str, command)), input=given, capture_output=True, text=True, env=environment, check=False
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    @asynccontextmanager
    async def pods_run(self) -> AsyncIterator[None]:
        """Pods of the add-ons are bound, run, and end when they are deleted: as by a scheduler and kubelets."""
        with suppress(KubeError):
            await self.client.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE}})
        async with asyncio.TaskGroup() as group:
            caring = group.create_task(self._care_for_pods())
            yield
            caring.cancel()

    async def _care_for_pods(self) -> None:
        while True:
            for space in {one.namespace for one in self.desired().addons.values()}:
                for pod in (await self.client.list("v1", "Pod", space)).items:
                    with suppress(KubeError):  # it has changed meanwhile; it is seen again
                        await self._care_for(Ref.of(pod), pod)
            await asyncio.sleep(0.2)

    async def _care_for(self, ref: Ref, pod: Object) -> None:
        if metadata(pod).get("deletionTimestamp"):
            await self.client.delete(ref, grace=0)
        elif not spec(pod).get("nodeName"):
            meta = {"name": ref.name, "namespace": ref.namespace}
            target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
            body = {"apiVersion": "v1", "kind": "Binding", "metadata": meta, "target": target}
            await self.client.caller.ask(
                "POST", f"/api/v1/namespaces/{ref.namespace}/pods/{ref.name}/binding", body=body
            )
        elif status(pod).get("phase") != "Running":
            change = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
            await self.client.patch(ref, change, subresource="status")


@contextmanager
def calls() -> Iterator[list[str]]:
    """Every call to Kubernetes meanwhile: method, path, and what became of it."""
    found: list[str] = []

    class Taken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(" ".join(record.getMessage().split()[2:]))

    taken, before = Taken(), LOGGER.level
    LOGGER.addHandler(taken)
    LOGGER.setLevel(logging.DEBUG)
    try:
        yield found
    finally:
        LOGGER.removeHandler(taken)
        LOGGER.setLevel(before)


def keys(plan: Plan[Any]) -> list[str]:
    return [str(step.key) for step in plan]


def notes(plan: Plan[Any]) -> str:
    return "\n".join(plan.notes)


def settings(plan: Plan[Any]) -> list[str]:
    """What the plan shows of each change: `what: before → after`."""
    return [f"{one.name}: {one.before} → {one.after}" for step in plan for one in step.action.settings]


async def eventually(look: Any, holds: Any) -> Any:
    async with asyncio.timeout(PATIENCE):
        while not holds(found := await look()):
            await asyncio.sleep(0.1)
    return found


def patient(server: ApiServer, **limits: Any) -> KubeClient:
    return KubeClient.from_bundle(server.bundle, [server.address], limits=replace(PATIENT, **limits))


def without_bookkeeping(item: Object) -> str:
    """The object without what changes with every write, and without what controllers add to it at some time."""
    own = ("managedFields", "resourceVersion", "generation", "annotations")
    meta = {key: value for key, value in metadata(item).items() if key not in own}
    meta["annotations"] = {key: value for key, value in annotations(item).items() if key != _REVISION}
    controllers = ("status", *(["rules"] if "aggregationRule" in item else []))
    rest = {key: value for key, value in item.items() if key not in controllers}
    return json.dumps({**rest, "metadata": meta}, sort_keys=True)
