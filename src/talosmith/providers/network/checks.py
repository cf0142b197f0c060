"""Whether the addresses of new machines are free, as seen from this computer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from talosmith.model.machines import MachineSpec
from talosmith.providers.base import Finding

_PATIENCE = 1.0  # seconds for who has an address to answer
_COMPLETE = 0x2  # of an entry in the kernel's ARP table: a machine has answered
TALOS, KUBERNETES = 50000, 6443  # ports of the APIs


@dataclass(frozen=True, slots=True)
class Wanted:
    """An address that is to be a new machine's, or shared by several."""

    address: str
    port: int  # where it will answer
    whose: str


async def check_addresses(wanted: Iterable[Wanted], macs: Iterable[str | None], system: Path = Path("/")) -> Finding:
    """What answers has the address already. A refusal proves nothing: routers refuse for empty networks, too.
    But on a network that this computer is in, the kernel knows now who has it; `macs` are our own machines'."""
    wanted = list(wanted)
    taken: list[str] = []

    async def knock(one: Wanted) -> None:
        with suppress(OSError):
            async with asyncio.timeout(_PATIENCE):
                _, writer = await asyncio.open_connection(one.address, one.port)
            writer.close()
            taken.append(f"{one.address} ({one.whose})")

    async with asyncio.TaskGroup() as group:
        for one in wanted:
            group.create_task(knock(one))
    if taken:
        return Finding(
            level="error", check="addresses", cause="addresses of new machines are in use",
            evidence=", ".join(sorted(taken)), fix="switch that off, or give the nodes other addresses",
        )  # fmt: skip
    ours = {mac.lower() for mac in macs if mac}
    known = {address: mac for address, mac in _neighbours(system) if mac not in ours}
    seen = sorted(f"{one.address} ({one.whose}) is at {known[one.address]}" for one in wanted if one.address in known)
    if seen:
        return Finding(
            level="warning", check="addresses", cause="addresses of new machines seem to be in use",
            evidence=", ".join(seen), fix="see with `arping` whether it is there; switch it off, or choose others",
        )  # fmt: skip
    return Finding(
        level="ok", check="addresses", evidence=f"{len(wanted)} free" if wanted else "no new machine needs one"
    )


def _neighbours(system: Path) -> Iterator[tuple[str, str]]:
    try:
        _, *lines = (system / "proc/net/arp").read_text().splitlines()
    except (OSError, ValueError):  # not Linux
        return
    for line in lines:
        address, _, flags, mac, *_ = line.split()
        if int(flags, 16) & _COMPLETE:
            yield address, mac.lower()


def wanted_addresses(specs: Sequence[MachineSpec], vip: str) -> list[Wanted]:
    """Of new machines, and the VIP if none of the cluster's machines can have it yet."""
    wanted = [Wanted(str(spec.ip), TALOS, spec.name) for spec in specs]
    return [*wanted, Wanted(vip, KUBERNETES, "the VIP")] if vip and specs else wanted
