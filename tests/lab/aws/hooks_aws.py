"""What is done to a talosmith process from inside: it dies at a call that changes something in AWS."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

from talosmith.providers.aws.client import _READS, AwsClient


def kill_at_call(number: int, *, sent: bool) -> None:
    """It dies by `kill -9` at the changing call of this number: before it is sent, or when it is answered."""
    perform, lock, counted = AwsClient._perform, threading.Lock(), 0

    def counting(self: AwsClient, service: str, action: str, *arguments: Any) -> Any:
        nonlocal counted
        mine = 0
        if not _READS.match(action):
            with lock:
                counted += 1
                mine = counted
        if mine == number and not sent:
            os.kill(os.getpid(), signal.SIGKILL)
        answer = perform(self, service, action, *arguments)
        if mine == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    AwsClient._perform = counting  # type: ignore[method-assign]
