"""The one logger of calls to other systems: provider, Talos API, Kubernetes API. `--verbose` prints what it logs.

A line has the system, the address, the method and the duration; never a request's or an answer's content, which may
be a secret.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

LOGGER = logging.getLogger("talosmith.calls")


@contextmanager
def logged(system: str, where: str, call: str) -> Iterator[None]:
    """Log what happens inside as one call, with its duration and, if it failed, the error."""
    if not LOGGER.isEnabledFor(logging.DEBUG):
        yield
        return
    started = time.monotonic()
    try:
        yield
    except BaseException as wrong:
        reason = f"{type(wrong).__name__}: {wrong}" if str(wrong) else type(wrong).__name__
        LOGGER.debug("%s %s %s failed after %.3fs: %s", system, where, call, time.monotonic() - started, reason)
        raise
    LOGGER.debug("%s %s %s %.3fs", system, where, call, time.monotonic() - started)
