"""All that can be asked of one node, in one class; each topic has its own module."""

from __future__ import annotations

from talosmith.talos.address import Address
from talosmith.talos.configuration import ConfigurationCalls
from talosmith.talos.etcd import EtcdCalls
from talosmith.talos.events import EventCalls
from talosmith.talos.grpc.caller import Limits
from talosmith.talos.grpc.channel import NodeChannel
from talosmith.talos.grpc.failures import translated
from talosmith.talos.grpc.trust import FingerprintTrust
from talosmith.talos.lifecycle import LifecycleCalls
from talosmith.talos.power import PowerCalls
from talosmith.talos.services import ServiceCalls
from talosmith.talos.streams import StreamCalls
from talosmith.talos.system import SystemCalls
from talosmith.talos.views import ViewCalls


class TalosNode(
    SystemCalls,
    ConfigurationCalls,
    PowerCalls,
    LifecycleCalls,
    ServiceCalls,
    EtcdCalls,
    ViewCalls,
    EventCalls,
    StreamCalls,
):
    """A node, reached directly or through another one. Made by `TalosClient.node` and `MaintenanceClient.node`."""

    def __init__(
        self, channel: NodeChannel, address: Address, name: str, limits: Limits, metadata: dict[str, str]
    ) -> None:
        super().__init__(channel, label_of(address, name), limits, metadata)
        self.address = address
        self.name = name or str(address)

    async def connect(self) -> None:
        """Makes the connection now, if there is none. Not needed: the first call does it too."""
        with translated(self._channel, self._label, "connect", self._limits.connect_timeout):
            await self._channel.__connect__()

    async def fingerprint(self) -> str:
        """Of the certificate that a node in maintenance mode shows, in base64 as on its console."""
        await self.connect()
        trust = self._channel.trust
        if not isinstance(trust, FingerprintTrust) or trust.known is None:
            raise TypeError("only nodes of a MaintenanceClient are known by their fingerprint")
        return trust.known

    async def close(self) -> None:
        """Ends the connection; the next call makes a new one."""
        await self._channel.aclose()

    def __repr__(self) -> str:
        return f"TalosNode({self._label})"


def label_of(address: Address, name: str) -> str:
    return f"{name} ({address})" if name and name != str(address) else str(address)
