"""What is done to a talosmith process from inside: it dies at a call that changes something in Proxmox VE."""

from __future__ import annotations

import os
import signal
from typing import Any

from talosmith.providers.proxmox.client import ProxmoxClient


def kill_at_call(number: int, *, sent: bool) -> None:
    """It dies by `kill -9` at the changing call of this number: before it is sent, or when it is answered.

    The answer to most of these calls only says that a task was begun, which then goes on without us.
    """
    calls, counted = ProxmoxClient._call, 0

    async def call(self: ProxmoxClient, method: str, *arguments: Any, **options: Any) -> Any:
        nonlocal counted
        mine = 0
        if method != "GET":
            counted += 1
            mine = counted
        if mine == number and not sent:
            os.kill(os.getpid(), signal.SIGKILL)
        answer = await calls(self, method, *arguments, **options)
        if mine == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    ProxmoxClient._call = call  # type: ignore[method-assign]
