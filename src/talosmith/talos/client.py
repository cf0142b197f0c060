"""The way to many nodes: one client for a cluster, one for machines that are in no cluster yet."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any, Self

from talosmith.desired.bundle import Bundle
from talosmith.desired.talosconfig import ADMIN, Talosconfig
from talosmith.model.secret import Secret
from talosmith.talos.address import Address
from talosmith.talos.credentials import SESSION_LIFETIME, Credentials
from talosmith.talos.grpc.caller import Limits
from talosmith.talos.grpc.channel import NodeChannel
from talosmith.talos.grpc.trust import ClusterTrust, FingerprintTrust, Trust
from talosmith.talos.node import TalosNode, label_of


class _Pool:
    """Keeps one connection to each address, and ends them all."""

    def __init__(self, limits: Limits | None) -> None:
        self.limits = limits or Limits()
        self._channels: dict[Address, NodeChannel] = {}

    def _channel(self, address: Address, label: str, trust: Trust) -> NodeChannel:
        channel = self._channels.get(address)
        if channel is None:
            channel = NodeChannel(address, trust, label, self.limits.connect_timeout)
            self._channels[address] = channel
        return channel

    async def close(self) -> None:
        """Ends all connections. Nodes of this client make new ones when they are asked again."""
        await asyncio.gather(*(channel.aclose() for channel in self._channels.values()))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.close()


class TalosClient(_Pool):
    """For the configured nodes of one cluster, over TLS that proves both sides."""

    def __init__(self, credentials: Credentials, *, limits: Limits | None = None) -> None:
        super().__init__(limits)
        self._trust = ClusterTrust(credentials)

    @classmethod
    def from_bundle(
        cls,
        bundle: Bundle,
        *,
        roles: Sequence[str] = (ADMIN,),
        lifetime: timedelta = SESSION_LIFETIME,
        limits: Limits | None = None,
    ) -> Self:
        """With a fresh client certificate from the cluster's secrets."""
        return cls(Credentials.from_bundle(bundle, roles, lifetime=lifetime), limits=limits)

    @classmethod
    def from_talosconfig(
        cls,
        config: Talosconfig | Mapping[str, Any] | Secret | str,
        *,
        context: str = "",
        limits: Limits | None = None,
    ) -> Self:
        """With the client certificate of a talosconfig, given as its text or its data."""
        return cls(Credentials.from_talosconfig(config, context), limits=limits)

    def exchange(self, credentials: Credentials) -> None:
        """Use these from now on, in nodes that were handed out before, too. Calls that run end with the old ones."""
        self._trust = ClusterTrust(credentials)
        for channel in self._channels.values():
            channel.exchange(self._trust)

    def node(self, address: str | Address, name: str = "", *, via: str | Address = "") -> TalosNode:
        """A node by its address. With `via`, a control plane is asked to pass every call on to it."""
        place = _read(address)
        if not via:
            channel = self._channel(place, label_of(place, name), self._trust)
            return TalosNode(channel, place, name, self.limits, {})
        gate = _read(via)
        channel = self._channel(gate, label_of(gate, ""), self._trust)
        return TalosNode(channel, place, name, self.limits, {"node": place.host})


class MaintenanceClient(_Pool):
    """For machines without a config. Nothing proves who answers but the fingerprint of its certificate.

    A fingerprint that is given is insisted on. Otherwise the first one seen at an address is, for the life of the
    client; `TalosNode.fingerprint` tells it.
    """

    def __init__(self, *, limits: Limits | None = None) -> None:
        super().__init__(limits)
        self._trusts: dict[Address, FingerprintTrust] = {}

    def node(self, address: str | Address, name: str = "", *, fingerprint: str = "") -> TalosNode:
        place = _read(address)
        trust = self._trusts.get(place)
        if trust is None:
            trust = self._trusts[place] = FingerprintTrust(fingerprint or None)
        elif fingerprint:
            trust.insist(label_of(place, name), fingerprint)
        return TalosNode(self._channel(place, label_of(place, name), trust), place, name, self.limits, {})

    async def forget(self, address: str | Address) -> None:
        """The machine that answers there next may have another fingerprint: the caller vouches for it."""
        place = _read(address)
        self._trusts.pop(place, None)
        channel = self._channels.pop(place, None)
        if channel is not None:
            await channel.aclose()


def _read(address: str | Address) -> Address:
    return address if isinstance(address, Address) else Address.parse(address)
