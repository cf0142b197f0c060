"""What a validation says, and how a check of the main document is declared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

Mode = Literal["metal", "cloud", "container"]
MODES: tuple[Mode, ...] = ("metal", "cloud", "container")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to say about one field. The message goes on after the field's name."""

    severity: Literal["error", "warning"]
    path: str
    message: str
    document: str = ""  # which document the path is in; empty for the main one

    def __str__(self) -> str:
        where = ": ".join(part for part in (self.document, self.path) if part)
        return f"{where} {self.message}" if where else self.message


Findings = Iterable[Finding]


@dataclass(frozen=True, slots=True)
class Check:
    """A check of the main document, which depends on nothing but the values at its paths.

    Besides real paths there are `@mode` and `@role` (controlplane, worker, or empty if the type is none Talos knows).
    """

    paths: tuple[str, ...]
    run: Callable[..., Findings]


MAIN_CHECKS: list[Check] = []
KIND_CHECKS: dict[str, Callable[[Any], Findings]] = {}


def check(*paths: str) -> Callable[[Callable[..., Findings]], Callable[..., Findings]]:
    """Declares a check of the main document. It is given the values at the paths, None for what does not exist."""

    def declare(run: Callable[..., Findings]) -> Callable[..., Findings]:
        MAIN_CHECKS.append(Check(paths, run))
        return run

    return declare


def check_kind(*kinds: str) -> Callable[[Callable[[Any], Findings]], Callable[[Any], Findings]]:
    """Declares the check of the documents of some kinds."""

    def declare(run: Callable[[Any], Findings]) -> Callable[[Any], Findings]:
        KIND_CHECKS.update(dict.fromkeys(kinds, run))
        return run

    return declare


def error(path: str, message: str) -> Finding:
    return Finding("error", path, message)


def warning(path: str, message: str) -> Finding:
    return Finding("warning", path, message)


def complaint(path: str, read: Callable[[str], object], value: Any) -> Findings:
    """An error if `read` cannot make sense of the value."""
    try:
        read(value or "")
    except ValueError as problem:
        yield error(path, str(problem))
