"""What a peer is built from, as plain data. A change is a new folder in the cache: a stale build is never taken."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

GO_SOURCES = Path(__file__).parent / "go"  # our own Go programs, and files that are added to others' sources


class PeerUnavailable(Exception):
    """The peer is not built, or cannot be; the message says what to do."""


@dataclass(frozen=True)
class Patch:
    """One small change of a source file; `old` stands in it exactly once, so a moved source is noticed."""

    file: str
    old: str
    new: str
    reason: str


@dataclass(frozen=True)
class Recipe:
    name: str
    version: str
    binaries: Mapping[str, str]  # file name -> package: `./…` inside the source, or an import path
    check: tuple[str, ...]  # arguments that make the first binary say its version …
    says: str  # … and what must be in the answer
    module: str = ""  # the Go module that is copied and compiled, or …
    source: str = ""  # … a module of our own, a folder below `go/`
    tags: str = ""
    ldflags: str = ""
    cgo: bool = False
    nested: Mapping[str, str] = field(default_factory=dict)  # folder -> module@version copied into it
    remove: tuple[str, ...] = ()
    add: Mapping[str, str] = field(default_factory=dict)  # file in the source -> file below `go/`
    edits: tuple[str, ...] = ()  # arguments of `go mod edit`
    patches: tuple[Patch, ...] = ()
    links: tuple[str, ...] = ()  # further names of the first binary, which looks at the name it is called by
    keep: Mapping[str, str] = field(default_factory=dict)  # file name in the cache -> file of the source or machine
    packages: tuple[str, ...] = ()  # of Debian, without which it cannot be compiled or kept
    linux_only: bool = False
    executable: bool = True  # False: it must never run as an ordinary process, so its file says so

    @property
    def names(self) -> tuple[str, ...]:
        """Every file that the build leaves in the cache."""
        return (*self.binaries, *self.links, *self.keep)

    @property
    def digest(self) -> str:
        """What is left at its default says nothing, so a new kind of field rebuilds no peer that does not use it."""
        told = [(one.name, getattr(self, one.name)) for one in fields(self) if getattr(self, one.name)]
        digest = hashlib.sha256(repr(told).encode())
        for path in self._own_files():
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
        return digest.hexdigest()[:12]

    def _own_files(self) -> list[Path]:
        added = [GO_SOURCES / name for name in self.add.values()]
        written = [path for path in (GO_SOURCES / self.source).rglob("*") if path.is_file()] if self.source else []
        return sorted([*added, *written])
