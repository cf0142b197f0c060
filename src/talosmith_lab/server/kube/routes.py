"""What a path and a method ask for."""

from __future__ import annotations

from dataclasses import dataclass

from talosmith_lab.kube.access import Wish
from talosmith_lab.server.kube.http import Request

_ONE = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "POST": "create"}
_MANY = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_NAMESPACE_PARTS = ("status", "finalize")


@dataclass(frozen=True, slots=True)
class Route:
    """An object, or all of a kind; `verb` is empty where the method has no meaning."""

    verb: str
    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def wish(self) -> Wish:
        return Wish(
            verb=self.verb,
            group=self.group,
            resource=self.plural,
            subresource=self.subresource,
            namespace=self.namespace,
            name=self.name,
        )


def parts_of(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def route_of(request: Request) -> Route | None:
    """None if the path is not that of objects."""
    parts = parts_of(request.path)
    if parts[:1] == ["api"] and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    watching = rest[0] == "watch" and len(rest) > 1
    if watching:
        rest = rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and not (len(rest) == 3 and rest[2] in _NAMESPACE_PARTS):
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = rest[0], "".join(rest[1:2]), "/".join(rest[2:])
    if plural == "namespaces" and not group:
        namespace = name
    verb = (_ONE if name else _MANY).get(request.method, "")
    if name and verb == "create" and not subresource:
        verb = ""
    if verb in ("list", "get") and (watching or request.query.get("watch") in ("1", "true")) and not subresource:
        verb = "watch"
    return Route(verb, group, version, plural, namespace, name, subresource)
