"""The client of a Kubernetes API: objects of any kind as plain data, by the verbs that Kubernetes has."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from talosmith.desired.bundle import Bundle
from talosmith.kube import errors
from talosmith.kube.caller import Caller, Limits
from talosmith.kube.credentials import Credentials
from talosmith.kube.discovery import Discovery, Resource
from talosmith.kube.kubeconfig import read_kubeconfig
from talosmith.kube.objects import Object, Ref, version
from talosmith.kube.transport import ClusterTransport, Server
from talosmith.model.secret import Secret

FIELD_MANAGER = "talosmith"
HELM_MANAGER = "helm"  # as Helm applies; its name is the only one whose fields it takes over without being forced
PAGE = 500
_PATCHES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",  # JSON is YAML
}

PatchKind = Literal["merge", "json", "strategic"]


@dataclass(frozen=True, slots=True)
class Listed:
    """All objects of a kind, and the moment they were read at."""

    items: tuple[Object, ...]
    version: str


@dataclass(frozen=True, slots=True)
class Written:
    """An object after a change, whether it was made by it, and what the server warned of."""

    item: Object
    created: bool
    warnings: tuple[str, ...] = ()


class KubeClient:
    """One cluster. Any control plane will do, and one that fails is left for the next."""

    def __init__(
        self,
        servers: Sequence[str],
        credentials: Credentials,
        *,
        limits: Limits | None = None,
        proxy: str = "",
        namespace: str = "default",
    ) -> None:
        self._transport = ClusterTransport([Server.parse(one) for one in servers], credentials, proxy)
        self._caller = Caller(self._transport, limits or Limits())
        self._discovery = Discovery(self._caller)
        self.namespace = namespace

    @classmethod
    def from_bundle(cls, bundle: Bundle, addresses: Sequence[str], *, limits: Limits | None = None) -> Self:
        """As the cluster's administrator, by the addresses of its control planes."""
        return cls(addresses, Credentials.from_bundle(bundle), limits=limits)

    @classmethod
    def from_kubeconfig(
        cls,
        config: Mapping[str, Any] | Secret | str,
        context: str = "",
        *,
        addresses: Sequence[str] = (),
        folder: Path | None = None,
        limits: Limits | None = None,
    ) -> Self:
        """By a kubeconfig's content. `addresses`: control planes to ask in place of the server that it names."""
        access = read_kubeconfig(config, context, folder=folder)
        return cls(
            addresses or [access.server],
            access.credentials,
            limits=limits,
            proxy=access.proxy,
            namespace=access.namespace,
        )

    def at(self, server: str) -> KubeClient:
        """Another client with the same credentials, for this server alone."""
        return KubeClient([server], self._transport.credentials)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, wrong: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def exchange(self, credentials: Credentials) -> None:
        """Use these from now on. Answers that are awaited or read come by the connections of the old ones."""
        await self._caller.exchange(credentials)

    async def close(self) -> None:
        await self._caller.close()

    @property
    def server(self) -> str:
        """The control plane that is asked at the moment."""
        return self._caller.server

    @property
    def caller(self) -> Caller:
        """For paths that are not those of objects, such as `/readyz`."""
        return self._caller

    async def server_version(self) -> str:
        """Such as `v1.36.3`."""
        return str((await self._caller.ask("GET", "/version")).item.get("gitVersion", ""))

    async def resource(self, api_version: str, kind: str) -> Resource:
        return await self._discovery.resource(api_version, kind)

    async def serves(self, api_version: str, kind: str) -> bool:
        return await self._discovery.find(api_version, kind) is not None

    async def discover(self, api_versions: Iterable[str]) -> None:
        """Ask for the kinds of these API versions before they are needed one after the other."""
        await self._discovery.discover(api_versions)

    async def get(self, ref: Ref) -> Object:
        """Raises `NotFound`."""
        return await self._object(ref)

    async def find(self, ref: Ref) -> Object | None:
        """None if there is no such object."""
        try:
            return await self._object(ref)
        except errors.NotFound:
            return None

    async def list(
        self, api_version: str, kind: str, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> Listed:
        """All that there are, or those in a namespace; read page by page, all of one moment."""
        resource = await self.resource(api_version, kind)
        params = {"limit": str(PAGE), **_selectors(labels, fields)}
        items: list[Object] = []
        while True:
            try:
                answer = await self._caller.ask("GET", resource.path(namespace), params=params, about=f"all {kind}s")
            except errors.Expired:
                if "continue" not in params:
                    raise
                del params["continue"]  # it took too long: the moment is forgotten, so from the start
                items = []
                continue
            page = answer.item
            # The items of a list do not say what they are.
            items += [{"apiVersion": api_version, "kind": kind, **item} for item in page.get("items") or ()]
            token = (page.get("metadata") or {}).get("continue")
            if not token:
                return Listed(tuple(items), version(page))
            params["continue"] = token

    async def create(self, item: Object, *, dry_run: bool = False) -> Object:
        """Raises `AlreadyExists`. Not asked twice, unless the server cannot have done it."""
        ref = Ref.of(item)
        resource = await self.resource(ref.api_version, ref.kind)
        path = resource.path(self._namespace(resource, ref))
        answer = await self._caller.ask("POST", path, params=_writing(dry_run), body=item, about=str(ref))
        return answer.item

    async def apply(
        self, item: Object, *, force: bool = False, dry_run: bool = False, manager: str = FIELD_MANAGER
    ) -> Written:
        """Server-side apply. Raises `Conflict` where other managers have set a field, unless forced."""
        ref = Ref.of(item)
        resource = await self.resource(ref.api_version, ref.kind)
        answer = await self._caller.ask(
            "PATCH",
            resource.path(self._namespace(resource, ref), ref.name),
            params={**_writing(dry_run), "fieldManager": manager, "force": "true" if force else "false"},
            body=item,
            content_type=_PATCHES["apply"],
            about=str(ref),
            repeat=True,
        )
        return Written(answer.item, answer.status == 201, answer.warnings)

    async def patch(self, ref: Ref, change: Any, *, kind: PatchKind = "merge", subresource: str = "") -> Object:
        """Merge patches may be asked twice; JSON patches may not, for they can add to lists."""
        resource = await self.resource(ref.api_version, ref.kind)
        answer = await self._caller.ask(
            "PATCH",
            resource.path(self._namespace(resource, ref), ref.name, subresource),
            params=_writing(False),
            body=change,
            content_type=_PATCHES[kind],
            about=str(ref),
            repeat=kind == "merge",
        )
        return answer.item

    async def replace(self, item: Object, *, subresource: str = "") -> Object:
        """Raises `Changed` if the object was changed since it was read."""
        ref = Ref.of(item)
        resource = await self.resource(ref.api_version, ref.kind)
        path = resource.path(self._namespace(resource, ref), ref.name, subresource)
        return (await self._caller.ask("PUT", path, params=_writing(False), body=item, about=str(ref))).item

    async def delete(
        self,
        ref: Ref,
        *,
        uid: str = "",
        grace: int | None = None,
        propagation: str = "Background",
        dry_run: bool = False,
    ) -> bool:
        """False if it was gone already. With a uid, only that very object: another of its name raises `Changed`."""
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation}
        if uid:
            options["preconditions"] = {"uid": uid}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        if dry_run:
            options["dryRun"] = ["All"]
        resource = await self.resource(ref.api_version, ref.kind)
        path = resource.path(self._namespace(resource, ref), ref.name)
        try:
            await self._caller.ask("DELETE", path, body=options, about=str(ref))
        except errors.NotFound:
            return False
        return True

    async def events(
        self,
        api_version: str,
        kind: str,
        namespace: str,
        since: str,
        *,
        labels: str = "",
        fields: str = "",
        seconds: int,
    ) -> AsyncGenerator[str]:
        """The raw lines of one watch, which the server ends after so many seconds. `watching.follow` goes on."""
        resource = await self.resource(api_version, kind)
        params = {
            "watch": "true",
            "resourceVersion": since,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(seconds),
            **_selectors(labels, fields),
        }
        # A server that falls silent longer than it was asked to speak is gone.
        async with self._caller.stream(resource.path(namespace), params, f"all {kind}s", idle=seconds + 15) as lines:
            async for line in lines:
                yield line

    async def _object(self, ref: Ref) -> Object:
        resource = await self.resource(ref.api_version, ref.kind)
        path = resource.path(self._namespace(resource, ref), ref.name)
        return (await self._caller.ask("GET", path, about=str(ref))).item

    def _namespace(self, resource: Resource, ref: Ref) -> str:
        return (ref.namespace or self.namespace) if resource.namespaced else ""


def _selectors(labels: str, fields: str) -> dict[str, str]:
    return {key: value for key, value in (("labelSelector", labels), ("fieldSelector", fields)) if value}


def _writing(dry_run: bool) -> dict[str, str]:
    return {"fieldManager": FIELD_MANAGER, **({"dryRun": "All"} if dry_run else {})}
