"""Machines that may be anywhere in the node network, found by their MAC addresses."""

from __future__ import annotations

from collections.abc import Sequence

from talosmith.model.values import IpNetwork
from talosmith.providers.network.neighbours import at, call_out, neighbours
from talosmith.waiting import poll

_ANSWERS_COME = 1.0  # seconds after calling out until the last machine has answered
_LOOK_AGAIN = 0.1


async def called_out(network: IpNetwork, macs: Sequence[str], before: dict[str, str]) -> dict[str, str]:
    """The table after every address of the network was probed; earlier entries may be out of date."""
    await call_out(network)

    async def all_answered() -> bool:
        table = neighbours()
        return all(at(mac, table) != at(mac, before) for mac in macs)

    await poll(all_answered, every=_LOOK_AGAIN, limit=_ANSWERS_COME)
    return neighbours()
