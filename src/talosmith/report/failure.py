"""Errors as data: kind Error of `-o json` and `-o yaml`."""

from __future__ import annotations

from typing import Any

from talosmith.errors import InventoryError, TalosmithError


def as_data(failure: TalosmithError) -> dict[str, Any]:
    """`code` is for programs, `message` and `fix` are for people."""
    return {
        "code": failure.exit_code.name.lower().replace("_", "-"),
        "exit_code": int(failure.exit_code),
        "message": str(failure),
        "fix": failure.hint,
        "problems": failure.problems if isinstance(failure, InventoryError) else (),
    }
