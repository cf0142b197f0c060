"""The calls of the API: parameters, privileges, and the way from a request to the handler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .access import Identity
from .errors import LockBusy, denied, failed, no_config
from .model import VM, Node, Storage
from .schema import Param, Table
from .tasks import Body, Task
from .uploads import Upload
from .world import Proxmox

Json = Any


@dataclass
class Call:
    """A request with caller, path and parameters of the right types, for a handler."""

    world: Proxmox
    who: Identity
    local: str  # the node that was asked
    path: dict[str, str]
    parameters: dict[str, Any] = field(default_factory=dict)
    upload: Upload | None = None
    attributes: dict[str, Any] = field(default_factory=dict)  # beside `data` in the answer

    def get(self, name: str, default: Any = None) -> Any:
        return self.parameters.get(name, default)

    @property
    def node(self) -> Node:
        return self.world.nodes[self.path["node"]]

    @property
    def vmid(self) -> int:
        return int(self.path["vmid"])

    def vm(self) -> VM:
        """On the node of the path; a VM of another node is not there."""
        vm = self.world.vms.get(self.vmid)
        if vm is None or vm.node != self.node.name:
            raise failed(no_config(self.node.name, self.vmid))
        return vm

    def storage(self, name: str | None = None) -> Storage:
        """Enabled, and there for the node."""
        name = name or self.path["storage"]
        storage = self.world.storages.get(name)
        if storage is None:
            raise failed(f"storage '{name}' does not exist")
        if not storage.enabled:
            raise failed(f"storage '{name}' is disabled")
        if not storage.on(self.node.name):
            raise failed(f"storage '{name}' is not available on node '{self.node.name}'")
        return storage

    def may(self, path: str, *privileges: str) -> bool:
        return self.world.may(self.who, path, *privileges)

    def require(self, path: str, *privileges: str) -> None:
        """Any of the privileges."""
        if not self.may(path, *privileges):
            raise denied(path, *privileges)

    def lock(self, vmid: int, patience: float = 10.0, prefix: str = "") -> None:
        """Before anything is changed: the call is tried again when the lock file is free."""
        if self.world.flocks.busy(vmid):
            raise LockBusy(vmid, patience, prefix)

    def task(self, kind: str, id_: str | int, body: Callable[[Task], Body], node: str = "") -> str:
        return self.world.tasks.start(node or self.node.name, kind, str(id_), self.who, body)


Handler = Callable[[Call], Json]


@dataclass(frozen=True)
class Need:
    """Any of the privileges on a path, in which names of the path's parts are filled in."""

    path: str
    privileges: tuple[str, ...] | Callable[[Proxmox], tuple[str, ...]]


@dataclass(frozen=True)
class Route:
    method: str
    parts: tuple[str, ...]
    handler: Handler
    table: Callable[[Call], Table]
    need: Need | None
    protected: bool  # done by pvedaemon, as root
    anonymous: bool


_ROUTES: list[Route] = []


def route(
    method: str,
    path: str,
    parameters: Mapping[str, Param] | Callable[[Call], Table] | None = None,
    *,
    need: tuple[str, *tuple[str, ...]] | Need | None = None,
    protected: bool | None = None,
    anonymous: bool = False,
) -> Callable[[Handler], Handler]:
    """`need` is a path and privileges, any of which is enough. What is not read only is protected."""

    def add(handler: Handler) -> Handler:
        given = parameters or {}
        table = given if callable(given) else lambda call: Table(given)
        asked = Need(need[0], tuple(need[1:])) if isinstance(need, tuple) else need
        hidden = method != "GET" if protected is None else protected
        _ROUTES.append(Route(method, _split(path), handler, table, asked, hidden, anonymous))
        return handler

    return add


def _split(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


def find(method: str, parts: list[str]) -> tuple[Route, dict[str, str]] | None:
    for candidate in _ROUTES:
        if candidate.method == method and len(candidate.parts) == len(parts):
            names = _match(candidate.parts, parts)
            if names is not None:
                return candidate, names
    return None


def _match(pattern: tuple[str, ...], parts: list[str]) -> dict[str, str] | None:
    names: dict[str, str] = {}
    for wanted, part in zip(pattern, parts, strict=True):
        if wanted.startswith("{"):
            names[wanted[1:-1]] = part
        elif wanted != part:
            return None
    return names


def check_need(call: Call, need: Need | None) -> None:
    if need is not None:
        privileges = need.privileges(call.world) if callable(need.privileges) else need.privileges
        call.require(need.path.format(**call.path), *privileges)
