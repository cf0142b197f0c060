"""How long is waited for what has to come, and how running out of time is tested whatever the machine has to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from talosmith.kube import KubeClient, Limits, NotDrained, NotInTime, drain, wait
from talosmith.kube.conditions import Awaited

PATIENCE = 180.0  # seconds; costs nothing where all is well
PATIENT = Limits(connect_timeout=60.0, call_timeout=120.0, total=PATIENCE)


async def not_drained(client: KubeClient, node: str, enough: Callable[[NotDrained], bool]) -> NotDrained:
    """What a drain says that ran out of time after it had enough of it to get as far as it can."""
    timeout = 2.0
    while timeout < PATIENCE:
        with pytest.raises(NotInTime) as caught:
            await drain(client, node, timeout=timeout, between=0.2)
        if isinstance(caught.value, NotDrained) and _knows(caught.value) and enough(caught.value):
            return caught.value
        timeout *= 2
    raise caught.value


def _knows(wrong: NotDrained) -> bool:
    return not any("not asked to leave yet" in blocked.why for blocked in wrong.blocked)


async def not_in_time(client: KubeClient, awaited: Sequence[Awaited]) -> tuple[str, float]:
    """What is said of conditions that do not come, after enough time to see that they do not; and how much it was."""
    timeout = 1.0
    while timeout < PATIENCE:
        with pytest.raises(NotInTime) as caught:
            await wait(client, awaited, timeout=timeout)
        if "not known yet" not in str(caught.value):
            return str(caught.value), timeout
        timeout *= 2
    raise caught.value
