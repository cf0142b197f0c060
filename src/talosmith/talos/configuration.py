"""Giving a node its config, starting the first member of etcd, and getting ways into the cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from google.protobuf.duration_pb2 import Duration
from google.protobuf.empty_pb2 import Empty

from talosmith.errors import UsageError
from talosmith.model.secret import Secret
from talosmith.talos.archive import Unsafe, single_file
from talosmith.talos.errors import NotTalos
from talosmith.talos.grpc.caller import MIB, NO_CHANNEL, Caller
from talosmith.talos.proto.machine_pb2 import (
    ApplyConfigurationRequest,
    BootstrapRequest,
    GenerateClientConfigurationRequest,
)
from talosmith.talos.proto.services import MachineServiceStub

_MACHINE = MachineServiceStub(NO_CHANNEL)
_LARGEST_KUBECONFIG = 4 * MIB


class ApplyMode(StrEnum):
    """How a new config takes effect.

    Talos 1.14 has no `REBOOT`: a configured node answers `Unsupported`. Its `AUTO` is `NO_REBOOT`, which it accepts
    for every change, also for one that has no effect until the node reboots.
    """

    AUTO = "auto"
    NO_REBOOT = "no-reboot"
    REBOOT = "reboot"
    STAGED = "staged"
    TRY = "try"


_MODES = {
    ApplyMode.AUTO: ApplyConfigurationRequest.AUTO,
    ApplyMode.NO_REBOOT: ApplyConfigurationRequest.NO_REBOOT,
    ApplyMode.REBOOT: ApplyConfigurationRequest.REBOOT,
    ApplyMode.STAGED: ApplyConfigurationRequest.STAGED,
    ApplyMode.TRY: ApplyConfigurationRequest.TRY,
}


@dataclass(frozen=True, slots=True)
class Applied:
    """`mode` is the one the node chose. `details` of a dry run is a diff, which may show secrets."""

    mode: ApplyMode
    warnings: tuple[str, ...]
    details: str = field(repr=False)


class ConfigurationCalls(Caller):
    """From an empty machine to a member of a cluster."""

    async def apply_config(
        self,
        config: Secret | str | bytes,
        mode: ApplyMode = ApplyMode.AUTO,
        *,
        dry_run: bool = False,
        try_for: timedelta | None = None,
        timeout: float = 60.0,
    ) -> Applied:
        """Hands over all documents of a machine config.

        With `TRY` the node goes back to the old one after `try_for` (a minute if not given), unless another apply
        comes before.
        """
        if try_for is not None and mode is not ApplyMode.TRY:
            raise UsageError("try_for is for the mode `try` only")
        request = ApplyConfigurationRequest(data=_bytes(config), mode=_MODES[mode], dry_run=dry_run)
        if try_for is not None:
            request.try_mode_timeout.CopyFrom(_duration(try_for))
        answered = await self._ask(_MACHINE.ApplyConfiguration, request, timeout)
        reply = self._one(_MACHINE.ApplyConfiguration, answered.messages)
        used = next((ours for ours, wire in _MODES.items() if wire == reply.mode), mode)
        return Applied(used, tuple(reply.warnings), reply.mode_details)

    async def bootstrap(self, *, recover: bool = False, skip_hash_check: bool = False, timeout: float = 60.0) -> None:
        """Makes this control plane the first member of a new etcd cluster. Once, on one node, ever.

        `recover` starts it from the snapshot that `etcd_recover` has brought to the same node.
        """
        if skip_hash_check and not recover:
            raise UsageError("skip_hash_check is for a bootstrap with recover only")
        request = BootstrapRequest(recover_etcd=recover, recover_skip_hash_check=skip_hash_check)
        self._one(_MACHINE.Bootstrap, (await self._ask(_MACHINE.Bootstrap, request, timeout)).messages)

    async def kubeconfig(self) -> Secret:
        """A fresh kubeconfig of an administrator, from a control plane."""
        packed = b"".join(
            [piece async for piece in self._data(_MACHINE.Kubeconfig, Empty(), budget=_LARGEST_KUBECONFIG)]
        )
        try:
            return Secret(single_file(packed, "kubeconfig", _LARGEST_KUBECONFIG).decode())
        except (Unsafe, UnicodeDecodeError) as wrong:
            why = str(wrong) if isinstance(wrong, Unsafe) else "it is not text"
            raise NotTalos(self._label, f"the kubeconfig cannot be unpacked: {why}", call="Kubeconfig") from None

    async def client_config(self, roles: Sequence[str], lifetime: timedelta) -> Secret:
        """A talosconfig with a new client certificate, made by a control plane."""
        request = GenerateClientConfigurationRequest(roles=roles, crt_ttl=_duration(lifetime))
        answered = await self._ask(_MACHINE.GenerateClientConfiguration, request)
        reply = self._one(_MACHINE.GenerateClientConfiguration, answered.messages)
        return Secret(reply.talosconfig.decode(errors="replace"))


def _bytes(config: Secret | str | bytes) -> bytes:
    if isinstance(config, bytes):
        return config
    return (config.reveal() if isinstance(config, Secret) else config).encode()


def _duration(length: timedelta) -> Duration:
    duration = Duration()
    duration.FromTimedelta(length)
    return duration
