"""Ranges of versions, as charts write them (`>=1.25.0-0`, `~1.2`, `^1.0.0`), with Helm's semantics."""

from __future__ import annotations

from gotpl.funcs.sprig.semver import semver_compare_result
from gotpl.runtime.results import unwrap_function_result


def in_range(constraint: str, version: str) -> bool:
    """Whether a version is one of those that a constraint allows."""
    try:
        return bool(unwrap_function_result(semver_compare_result(constraint, version)))
    except Exception:  # gotpl reports a bad version or constraint in several ways
        return False
