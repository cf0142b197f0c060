"""Ids of runs: unique among all clusters, sorted by start time, short enough to type.

`20261116-2324-7f3a` is a run that started on 2026-11-16 at 23:24 local time, and four random hex digits.
"""

from __future__ import annotations

import secrets
import time
from hashlib import blake2b


def new_run_id(at: float) -> str:
    return f"{_minute(at)}-{secrets.token_hex(2)}"


def derived_run_id(at: float, journal: str, number: int) -> str:
    """The id of a run whose journal entry has none: earlier versions only numbered the runs of a cluster."""
    return f"{_minute(at)}-{blake2b(f'{journal} {number}'.encode(), digest_size=2).hexdigest()}"


def _minute(at: float) -> str:
    return time.strftime("%Y%m%d-%H%M", time.localtime(at))
