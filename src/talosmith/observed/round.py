"""What one round of health checks reads. Each thing is read once, when the first check needs it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast

from talosmith.desired.target import Desired
from talosmith.errors import TalosmithError
from talosmith.kube import KubeClient, KubeNode, NotFound
from talosmith.kube.objects import Object
from talosmith.observed.asking import answer_of
from talosmith.observed.etcd import look_at_member
from talosmith.observed.kubernetes import nodes_now
from talosmith.observed.world import EtcdSeen
from talosmith.talos import Diagnostic, MachineStatus, Resource, Service, Swept, TalosNode, sweep

PROXY, CORE_DNS = "kube-proxy", "coredns"
COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
_ANSWER = 5.0  # seconds for one question to one node
_SYSTEM = "/api/v1/namespaces/kube-system/pods"
_APPS = "/apis/apps/v1/namespaces/kube-system"
_DAEMON_SETS = "/apis/apps/v1/daemonsets"
_CNI_FOLDERS = ("/etc/cni", "/opt/cni")

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a healthy cluster consists of, by the nodes' machine configs."""

    controlplanes: tuple[str, ...]
    workers: tuple[str, ...]
    registered: tuple[str, ...]  # nodes that have a Node object
    components: tuple[str, ...]
    without_cni: bool  # Talos installs no CNI, nor does an add-on
    manifests: bool  # Talos applies manifests of the user; a CNI may be among them
    proxy: bool
    core_dns: bool
    endpoint: str = ""  # URL of the Kubernetes API behind a load balancer of the provider

    @classmethod
    def of(cls, desired: Desired) -> Expected:
        config = desired.meaning
        on = {COMPONENTS[1]: config.controller_manager_enabled, COMPONENTS[2]: config.scheduler_enabled}
        return cls(
            controlplanes=tuple(node.name for node in desired.controlplanes),
            workers=tuple(node.name for node in desired.workers),
            registered=tuple(name for name, node in desired.nodes.items() if _registers(node.config.reveal())),
            components=tuple(name for name in COMPONENTS if on.get(name, True)),
            without_cni=desired.without_cni,
            manifests=bool(config.inline_manifests or config.external_manifests),
            proxy=config.proxy_enabled,
            core_dns=config.core_dns_enabled,
            endpoint=desired.cluster.endpoint.url if desired.cluster.provider.has_api_balancer else "",
        )

    @property
    def nodes(self) -> tuple[str, ...]:
        return self.controlplanes + self.workers


class Round:
    """Answers of nodes and of the Kubernetes API, for one round only."""

    def __init__(self, expected: Expected, nodes: Mapping[str, TalosNode], kube: KubeClient | None) -> None:
        self.expected = expected
        self._nodes = nodes
        self._kube = kube
        self._found: dict[str, asyncio.Future[Any]] = {}
        self._begun: asyncio.Future[Any] | None = None

    def begin(self) -> None:
        """Ask for everything at once, where all checks are going to be evaluated."""
        asks: list[Callable[[], Awaitable[Any]]] = [self.etcd, self.services, self.diagnostics, self.statuses]
        if self._kube is not None:
            asks += [self.kube_nodes, self.static_pods, self.components]
            asks += [partial(self.daemon_set, PROXY)] if self.expected.proxy else []
            asks += [partial(self.deployment, CORE_DNS)] if self.expected.core_dns else []
            asks += [self.endpoint_version] if self.expected.endpoint else []
        self._begun = asyncio.gather(*(ask() for ask in asks), return_exceptions=True)

    async def end(self) -> None:
        """Cancel what was asked for and is not needed any more."""
        asked = [*([self._begun] if self._begun else ()), *self._found.values()]
        for one in asked:
            one.cancel()
        await asyncio.gather(*asked, return_exceptions=True)

    async def services(self) -> Swept[tuple[Service, ...]]:
        return await self._once("services", lambda: self._sweep(self.expected.nodes, lambda node: node.services()))

    async def statuses(self) -> Swept[MachineStatus]:
        return await self._once(
            "status", lambda: self._sweep(self.expected.nodes, lambda node: node.machine_status())
        )

    async def etcd(self) -> Swept[EtcdSeen]:
        return await self._once("etcd", lambda: self._sweep(self.expected.controlplanes, look_at_member))

    async def diagnostics(self) -> Swept[tuple[Diagnostic, ...]]:
        return await self._once("wrong", lambda: self._sweep(self.expected.nodes, lambda node: node.diagnostics()))

    async def static_pods(self) -> Swept[tuple[Resource, ...]]:
        def ask(node: TalosNode) -> Awaitable[tuple[Resource, ...]]:
            return node.list("staticpodstatuses")

        return await self._once("pods", lambda: self._sweep(self.expected.controlplanes, ask))

    async def kube_nodes(self) -> dict[str, KubeNode]:
        """Node objects by name. Raises `KubeError`, as all that ask the Kubernetes API."""
        return await self._once("kube-nodes", self._list_nodes)

    async def components(self) -> list[Object]:
        """The pods of the control plane without those that have terminated or are being deleted."""
        return await self._once("components", self._list_components)

    async def daemon_set(self, name: str) -> Object | None:
        return await self._once(f"DaemonSet {name}", lambda: self._find(f"{_APPS}/daemonsets/{name}"))

    async def deployment(self, name: str) -> Object | None:
        return await self._once(f"Deployment {name}", lambda: self._find(f"{_APPS}/deployments/{name}"))

    async def endpoint_version(self) -> str:
        """The version that the Kubernetes API gives at the endpoint, by the load balancer."""
        return await self._once("endpoint", self._ask_endpoint)

    async def _ask_endpoint(self) -> str:
        if self._kube is None:
            raise AssertionError("asked for with a client only")
        async with self._kube.at(self.expected.endpoint) as client, asyncio.timeout(_ANSWER):
            return await client.server_version()

    async def cni_daemon_sets(self) -> list[str]:
        """DaemonSets that install a CNI, known by their mounts of the folders that container runtimes read."""
        return await self._once("CNI", self._list_cni)

    async def _sweep(self, names: tuple[str, ...], ask: Callable[[TalosNode], Awaitable[T]]) -> Swept[T]:
        async def bounded(node: TalosNode) -> T:
            try:
                async with asyncio.timeout(_ANSWER):
                    return await answer_of(lambda: ask(node))
            except TimeoutError:
                raise TalosmithError(f"{node.name}: no answer within {_ANSWER:g} s") from None

        return await sweep([self._nodes[name] for name in names], bounded)

    async def _list_nodes(self) -> dict[str, KubeNode]:
        return {node.name: node for node in await nodes_now(self._client)}

    async def _list_components(self) -> list[Object]:
        params = {"labelSelector": f"k8s-app in ({', '.join(COMPONENTS)})"}
        page = await self._client.caller.ask(
            "GET", _SYSTEM, params=params, about="the control plane's pods", attempts=1
        )
        return [pod for pod in page.item.get("items") or () if _counts(pod)]

    async def _list_cni(self) -> list[str]:
        page = await self._client.caller.ask("GET", _DAEMON_SETS, about="all DaemonSets", attempts=1)
        return [item["metadata"]["name"] for item in page.item.get("items") or () if _installs_cni(item)]

    async def _find(self, path: str) -> Object | None:
        try:
            return (await self._client.caller.ask("GET", path, attempts=1)).item
        except NotFound:
            return None

    @property
    def _client(self) -> KubeClient:
        if self._kube is None:
            raise TypeError("checks of Kubernetes need its client")
        return self._kube

    async def _once(self, key: str, ask: Callable[[], Awaitable[T]]) -> T:
        """The answer to the first call, or its error, for all calls with the same key."""
        if key not in self._found:
            self._found[key] = asyncio.ensure_future(ask())
        return cast(T, await self._found[key])


def _counts(pod: Object) -> bool:
    status = pod.get("status") or {}
    states = [one.get("state") or {} for one in status.get("containerStatuses") or ()]
    over = bool(states) and all("terminated" in state for state in states)
    return not (pod["metadata"].get("deletionTimestamp") or status.get("phase") == "Failed" or over)


def _installs_cni(daemon_set: Object) -> bool:
    volumes = _inside(daemon_set, "spec", "template", "spec").get("volumes") or ()
    return any(_inside(volume, "hostPath").get("path", "").startswith(_CNI_FOLDERS) for volume in volumes)


def _registers(text: str) -> bool:
    if "skipNodeRegistration" not in text:
        return True
    from talosmith.desired.config.load import load
    from talosmith.desired.config.meaning import meaning

    return not meaning(load(text)).skip_node_registration


def _inside(value: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    for part in path:
        value = value.get(part) or {}
    return value
