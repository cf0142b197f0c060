"""What templates see as a Go struct."""

from __future__ import annotations


class GoStruct:
    """A value whose fields and methods templates may use: those that it names, and no others."""

    go_names: frozenset[str] = frozenset()
