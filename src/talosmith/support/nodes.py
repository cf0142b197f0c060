"""What is collected from one node: services, logs, kernel messages, events, machine config, resources, etcd.

Every item is asked for by itself and has a time limit: what fails is listed with its reason, the rest is collected.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from talosmith.errors import TalosmithError
from talosmith.observed.access import NodeAccess
from talosmith.observed.machine_events import NodeEvent, kept_events
from talosmith.report import machine_events, services
from talosmith.report.data import as_yaml
from talosmith.support.archive import LARGEST, Files, file_name
from talosmith.support.machine_config import redacted_config
from talosmith.talos import TalosNode
from talosmith.talos.errors import Unreachable

_LIMIT = 30.0  # seconds for one item
_AT_ONCE = 4  # items of one node
_LINES = 3000  # of each service's log
_CONTAINERS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
_RESOURCES = (
    "addressstatuses",
    "diagnostics",
    "disks",
    "extensionstatuses",
    "hostnamestatuses",
    "linkstatuses",
    "machinestatuses",
    "members",
    "nodeaddresses",
    "nodenames",
    "staticpods",
    "staticpodstatuses",
    "systemdisks",
    "timestatuses",
    "volumestatuses",
)


class NodeCollector:
    """Reads one node into `files`; `secrets` receives the secrets of its machine config."""

    def __init__(self, name: str, access: NodeAccess, files: Files, secrets: set[str]) -> None:
        self._name = name
        self._access = access
        self._files = files
        self._secrets = secrets
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._lost = ""  # why the node cannot be asked any more

    async def collect(self) -> str:
        """Empty, or why the node could not be asked."""
        try:
            reached = await self._access.reach(self._name)
        except TalosmithError as wrong:
            self._files.miss(f"nodes/{self._name}/", str(wrong))
            return str(wrong)
        node = reached.node
        items: dict[str, Callable[[], Awaitable[str]]] = {
            "version.json": lambda: _json(node.version()),
            "services.json": lambda: self._services(node),
            "dmesg.log": lambda: _text(node.dmesg()),
            "events.jsonl": lambda: self._events(node),
            "memory.json": lambda: _json(node.memory()),
            "mounts.json": lambda: _json(node.mounts()),
            **{f"resources/{kind}.yaml": self._resources(node, kind) for kind in _RESOURCES},
        }
        if not reached.maintenance:
            items["machine-config.yaml"] = lambda: self._config(node)
        if self._access.is_controlplane(self._name) and not reached.maintenance:
            items["etcd-status.json"] = lambda: _json(node.etcd_status())
            items["etcd-members.json"] = lambda: _json(node.etcd_members())
            items["etcd-alarms.json"] = lambda: _json(node.etcd_alarms())
        items |= await self._logs(node)
        await asyncio.gather(*(self._item(path, ask) for path, ask in items.items()))
        return self._lost

    async def _item(self, path: str, ask: Callable[[], Awaitable[str]]) -> None:
        whole = f"nodes/{self._name}/{path}"
        async with self._room:
            if self._lost:
                self._files.miss(whole, self._lost)
                return
            try:
                async with asyncio.timeout(_LIMIT):
                    self._files.add(whole, await ask())
            except TimeoutError:
                self._files.miss(whole, f"no answer within {_LIMIT:g} s")
            except TalosmithError as wrong:
                self._files.miss(whole, str(wrong))
                if isinstance(wrong, Unreachable):
                    self._lost = str(wrong)

    async def _logs(self, node: TalosNode) -> dict[str, Callable[[], Awaitable[str]]]:
        items: dict[str, Callable[[], Awaitable[str]]] = {}
        try:
            names = [name for name in await node.log_names() if "/" not in name]
            items |= {f"logs/{file_name(name)}.log": self._log(node, name) for name in names}
            found = [one.id for one in await node.containers(kubernetes=True) if one.name]
            wanted = [one for one in found if any(word in one for word in _CONTAINERS)]
            items |= {f"logs/{file_name(one)}.log": self._log(node, one, kubernetes=True) for one in wanted}
        except TalosmithError as wrong:
            self._files.miss(f"nodes/{self._name}/logs/", str(wrong))
        return items

    def _log(self, node: TalosNode, name: str, *, kubernetes: bool = False) -> Callable[[], Awaitable[str]]:
        return lambda: _text(node.logs(name, kubernetes=kubernetes, tail=_LINES))

    def _resources(self, node: TalosNode, kind: str) -> Callable[[], Awaitable[str]]:
        async def ask() -> str:
            found = await node.list(kind)
            listed = [
                {"id": one.id, "type": one.type, "version": one.version, "phase": one.phase, "spec": one.spec}
                for one in found
            ]
            return as_yaml({"items": listed}) + "\n"

        return ask

    async def _services(self, node: TalosNode) -> str:
        return _dumped({"services": services.as_data(await node.services())})

    async def _events(self, node: TalosNode) -> str:
        found = [machine_events.as_data(NodeEvent(self._name, event)) for event in await kept_events(node)]
        return "".join(json.dumps(one) + "\n" for one in found)

    async def _config(self, node: TalosNode) -> str:
        text, secrets = redacted_config(await node.machine_config())
        self._secrets |= secrets
        return text


async def _json(answer: Awaitable[Any]) -> str:
    found = await answer
    return _dumped({"items": found} if isinstance(found, tuple) else found)


def _dumped(value: Any) -> str:
    from talosmith.report.data import as_json

    return as_json(value) + "\n"


async def _text(lines: AsyncIterator[str]) -> str:
    """The end of it, if there is more than a file holds."""
    kept: list[str] = []
    size = 0
    async for line in lines:
        kept.append(line)
        size += len(line) + 1
        if size > 2 * LARGEST:
            kept = kept[len(kept) // 2 :]
            size = sum(map(len, kept)) + len(kept)
    return "\n".join([*kept, ""])
