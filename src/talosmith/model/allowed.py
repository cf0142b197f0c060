"""What `--allow` accepts, beside the inventory: the command line names it before an inventory is read."""

from __future__ import annotations

from enum import StrEnum


class Allowed(StrEnum):
    """Errors that `--allow` turns into warnings: what talosmith advises against, and could do."""

    UNSUPPORTED_VERSIONS = "unsupported-versions"


EVERYTHING = frozenset(Allowed)
