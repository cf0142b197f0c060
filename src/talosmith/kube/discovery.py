"""Which kinds of objects a server has, and the paths by which they are reached."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from talosmith.kube import errors
from talosmith.kube.caller import JSON, Caller


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind, as the server has it."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Of one object, or of all in a namespace, or of all."""
        parts = ["apis" if "/" in self.api_version else "api", *self.api_version.split("/")]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        parts += [part for part in (name, subresource) if part]
        return "/" + "/".join(quote(part, safe="") for part in parts)


# The form in which a server lists the kinds of all groups at once.
_ALL_KINDS = f"{JSON};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,{JSON}"
_ROOTS = ("/api", "/apis")


class Discovery:
    """Asks the server once for each group of kinds, and again when a kind is not among them: it may be new."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._known: dict[str, dict[str, Resource]] = {}

    async def resource(self, api_version: str, kind: str) -> Resource:
        """Raises `NotServed` if there is no such kind."""
        found = await self.find(api_version, kind)
        if found is None:
            raise errors.NotServed(
                self._caller.server,
                f"there is no kind {kind} in {api_version}",
                hint="Is the API version right for this Kubernetes, and the CustomResourceDefinition there?",
            )
        return found

    async def discover(self, api_versions: Iterable[str]) -> None:
        """Where more than two of these are not known, ask for the kinds of all: it takes two questions."""
        if len({*api_versions} - self._known.keys()) <= len(_ROOTS):
            return
        for root in _ROOTS:
            answer = (await self._caller.ask("GET", root, about="the kinds of all groups", accept=_ALL_KINDS)).item
            if answer.get("kind") == "APIGroupDiscoveryList":  # else it is too old, and asked for each group
                self._known.update(_all_kinds(answer))

    async def find(self, api_version: str, kind: str) -> Resource | None:
        if kind not in self._known.get(api_version, {}):
            self._known[api_version] = await self._ask(api_version)
        return self._known[api_version].get(kind)

    async def _ask(self, api_version: str) -> dict[str, Resource]:
        path = "/" + "/".join(quote(part, safe="") for part in api_version.split("/"))
        root = "/apis" if "/" in api_version else "/api"
        try:
            answer = await self._caller.ask("GET", root + path, about=f"the kinds of {api_version}")
        except errors.NotFound:
            return {}
        return {
            str(one["kind"]): Resource(api_version, str(one["kind"]), str(one["name"]), bool(one.get("namespaced")))
            for one in answer.item.get("resources") or ()
            if "/" not in str(one["name"])  # these are subresources
        }


def _all_kinds(answer: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Resource]]]:
    """API version, and its kinds. Left out is what an extension API server that does not answer has served before."""
    for group in answer.get("items") or ():
        name = (group.get("metadata") or {}).get("name")
        for one in group.get("versions") or ():
            if one.get("freshness") == "Stale":
                continue
            api_version = f"{name}/{one['version']}" if name else str(one["version"])
            kinds = [(str(each["responseKind"]["kind"]), each) for each in one.get("resources") or ()]
            yield (
                api_version,
                {
                    kind: Resource(api_version, kind, str(each["resource"]), each.get("scope") == "Namespaced")
                    for kind, each in kinds
                },
            )
