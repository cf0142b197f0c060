"""One node to look into: its Talos API, with or without a machine config, or the reason why it does not answer.

Logs, kernel messages, services and events are readable in maintenance mode, too: that is when they are needed most.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence

from talosmith.desired.target import Desired, machine_spec
from talosmith.errors import Permanent, TalosmithError, no_such
from talosmith.model.machines import Machine
from talosmith.observed.nodes import Asked, NodeLooker, Reached
from talosmith.observed.reach import candidates
from talosmith.providers.base import HasConsole, Provider
from talosmith.talos import MaintenanceClient, TalosClient

_AT_ONCE = 32
_KNOWN_FOR = 1.0  # seconds: nodes that are followed while their machines are off share one answer of the provider


class NodeAccess:
    """Reaches nodes of the inventory, and machines of this cluster that the inventory no longer has.

    `machines` are those that the provider reports; an empty mapping means that they are not known. A machine that is
    off or does not exist is looked up again with `refresh`.
    """

    def __init__(
        self,
        desired: Desired,
        provider: Provider,
        talos: TalosClient,
        maintenance: MaintenanceClient,
        machines: Mapping[str, Machine],
        *,
        refresh: Callable[[], Awaitable[Mapping[str, Machine]]],
    ) -> None:
        self._looker = NodeLooker(desired, talos, maintenance, at_once=_AT_ONCE, connecting=_AT_ONCE)
        self._desired = desired
        self._provider = provider
        self._machines = machines
        self._refresh = refresh
        self._known_since = time.monotonic()
        self._planned = {node.name: node for node in desired.cluster.nodes}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self._planned, *self._machines)))

    def chosen(self, names: Sequence[str]) -> tuple[str, ...]:
        """The nodes that are named, or all nodes; a name that does not exist is a typing error."""
        for name in names:
            if name not in self.names:
                raise no_such("node", name, self.names, otherwise=f"nodes: {', '.join(self.names)}")
        return tuple(dict.fromkeys(names)) or self.names

    def is_controlplane(self, name: str) -> bool:
        if name in self._planned:
            return self._planned[name].role == "controlplane"
        return self._machines[name].role == "controlplane"

    async def reach(self, name: str) -> Reached:
        """The node, connected."""
        self.chosen([name])
        machine = await self._machine(name)
        if machine is None and self._machines:
            raise Permanent(f"{name}: no machine exists", hint="create it: `talosmith up`")
        if machine is not None and machine.power == "off":
            raise Permanent(f"{name}: the machine is powered off", hint=self._hint(name))
        node = self._planned.get(name)
        planned = machine_spec(self._desired.cluster, node) if node is not None else None
        asked = Asked(
            name=name,
            machine=machine,
            addresses=candidates(str(node.ip) if node is not None else "", machine),
            controlplane=self.is_controlplane(name),
            fingerprint=(machine.fingerprint if machine else "") or (planned.fingerprint if planned else ""),
        )
        if not asked.addresses:
            raise Permanent(f"{name}: the provider reports no address", hint=self._hint(name))
        found = await self._looker.reach(asked)
        if isinstance(found, TalosmithError):
            raise Permanent(str(found), hint=self._hint(name, found.hint)) from found
        return found

    async def _machine(self, name: str) -> Machine | None:
        found = self._machines.get(name)
        waits = self._machines and (found is None or found.power == "off")
        if waits and time.monotonic() - self._known_since > _KNOWN_FOR:
            self._machines, self._known_since = await self._refresh(), time.monotonic()
        return self._machines.get(name)

    def _hint(self, name: str, hint: str = "") -> str:
        look = "look at the machine's own console"
        if isinstance(self._provider, HasConsole):
            look = f"`talosmith node console {name}` shows what the machine wrote on its console"
        return f"{hint.rstrip('.')}; {look}" if hint else look
