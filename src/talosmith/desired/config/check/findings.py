"""What a validation says, and how a check is declared: of the main document, of a kind, or of documents together.

A check applies to every Talos unless it names the first (`since`) or the last (`until`) minor version that has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from talosmith.desired.config.schema.documents import NEWEST as NEWEST_TALOS
from talosmith.desired.config.schema.documents import Document, Identity
from talosmith.desired.config.schema.since import Line

Mode = Literal["metal", "cloud", "container"]
MODES: tuple[Mode, ...] = ("metal", "cloud", "container")
NEWEST: Line = (int(NEWEST_TALOS.split(".")[0]), int(NEWEST_TALOS.split(".")[1]))
_FIRST: Line = (0, 0)
_LAST: Line = (1 << 16, 0)


@dataclass(frozen=True, slots=True)
class Place:
    """A field of a document; without a path, the document as a whole."""

    document: Identity
    path: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to say about one field. The message goes on after the field's name."""

    severity: Literal["error", "warning"]
    path: str
    message: str
    document: str = ""  # which document the path is in; empty for the main one
    identity: Identity = ("", "")  # the same document, for programs
    other: Place | None = None  # of two settings that exclude each other, the second

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
    since: Line = _FIRST
    until: Line = _LAST


@dataclass(frozen=True, slots=True)
class KindCheck:
    """A check of one document by itself."""

    kind: str
    run: Callable[[Any], Findings]
    since: Line = _FIRST
    until: Line = _LAST


@dataclass(frozen=True, slots=True)
class Together:
    """A whole config, for checks that need more than one document."""

    mode: Mode
    role: str
    main: Document  # empty if there is none
    by_kind: Mapping[str, Sequence[Document]]

    def section(self, *keys: str) -> Any:
        """What the main document has there; None if nothing."""
        value: Any = self.main
        for key in keys:
            value = value.get(key) if value is not None else None
        return value

    def first(self, kind: str) -> Any:
        """The document of a kind that a config has once; None if it has none."""
        return next(iter(self.by_kind.get(kind, ())), None)


@dataclass(frozen=True, slots=True)
class TogetherCheck:
    """A check of documents together."""

    run: Callable[[Together], Findings]
    since: Line = _FIRST
    until: Line = _LAST


MAIN_CHECKS: list[Check] = []
KIND_CHECKS: list[KindCheck] = []
TOGETHER_CHECKS: list[TogetherCheck] = []


def check(
    *paths: str, since: Line = _FIRST, until: Line = _LAST
) -> Callable[[Callable[..., Findings]], Callable[..., Findings]]:
    """Declares a check of the main document. It is given the values at the paths, None for what does not exist."""

    def declare(run: Callable[..., Findings]) -> Callable[..., Findings]:
        MAIN_CHECKS.append(Check(paths, run, since, until))
        return run

    return declare


def check_kind(
    *kinds: str, since: Line = _FIRST, until: Line = _LAST
) -> Callable[[Callable[[Any], Findings]], Callable[[Any], Findings]]:
    """Declares a check of the documents of some kinds. A kind may have several."""

    def declare(run: Callable[[Any], Findings]) -> Callable[[Any], Findings]:
        KIND_CHECKS.extend(KindCheck(kind, run, since, until) for kind in kinds)
        return run

    return declare


def check_together(
    since: Line = _FIRST, until: Line = _LAST
) -> Callable[[Callable[[Together], Findings]], Callable[[Together], Findings]]:
    """Declares a check of documents together."""

    def declare(run: Callable[[Together], Findings]) -> Callable[[Together], Findings]:
        TOGETHER_CHECKS.append(TogetherCheck(run, since, until))
        return run

    return declare


@dataclass(frozen=True, slots=True)
class Checks:
    """All checks of one Talos."""

    main: tuple[tuple[tuple[tuple[str, ...], ...], Callable[..., Findings]], ...]
    kinds: Mapping[str, tuple[Callable[[Any], Findings], ...]]
    together: tuple[Callable[[Together], Findings], ...]


@lru_cache(maxsize=16)
def checks_for(talos: Line) -> Checks:
    """The checks that a Talos makes. All modules with checks are imported before the first call."""
    kinds: dict[str, tuple[Callable[[Any], Findings], ...]] = {}
    for one in KIND_CHECKS:
        if one.since <= talos <= one.until:
            kinds[one.kind] = (*kinds.get(one.kind, ()), one.run)
    return Checks(
        tuple(
            (tuple(tuple(path.split(".")) for path in one.paths), one.run)
            for one in MAIN_CHECKS
            if one.since <= talos <= one.until
        ),
        kinds,
        tuple(one.run for one in TOGETHER_CHECKS if one.since <= talos <= one.until),
    )


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


def missing(document: Any, *keys: str) -> Findings:
    """An error for each of the keys that the document does not have."""
    for key in keys:
        if not document.get(key):
            yield error(key, "is missing")
