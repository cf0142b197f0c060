"""How long to pause before the next try.

Twice as long each time, never shorter than the other side asked for, never much longer than half of what is left of
the step's time, and never the same for all: steps that failed together must not come back together.
"""

from __future__ import annotations

import random

SHORTEST, LONGEST = 0.05, 30.0  # seconds; LONGEST bends to whoever asks for more
JITTER = 0.25


def pause(attempt: int, retry_after: float, left: float) -> float:
    """Seconds until the next try, after `attempt` tries (from 1) and with `left` seconds to the step's limit."""
    asked = max(retry_after, SHORTEST)
    grown = asked * 2.0 ** min(attempt - 1, 30)
    bounded = max(asked, min(grown, LONGEST, left / 2))
    return bounded * (1 + random.random() * JITTER)  # noqa: S311
