"""Many configs out of one: what the nodes of a role share is generated, validated and written once.

A node's own patches copy only the way to what they change. Everything else is the same object as in the base, and is
known by that: its findings and its text are taken from memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from talosmith.desired.config.check.findings import NEWEST, Finding, Mode
from talosmith.desired.config.check.validate import Validator, errors_of
from talosmith.desired.config.emit import Fragments
from talosmith.desired.config.patch.apply import Patch, apply_patches
from talosmith.desired.config.schema.documents import Document
from talosmith.desired.config.schema.since import Line


@dataclass(frozen=True, slots=True)
class Rendered:
    """A node's config. The text and the documents hold secrets."""

    documents: tuple[Document, ...] = field(repr=False)
    text: str = field(repr=False)
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> list[Finding]:
        return errors_of(self.findings)


class Prepared:
    """The base of a role's configs: generated documents with the patches that all of its nodes get."""

    def __init__(
        self,
        documents: Sequence[Document],
        patches: Sequence[Patch] = (),
        *,
        mode: Mode,
        strict: bool = False,
        talos: Line = NEWEST,
    ) -> None:
        self.documents = tuple(apply_patches(documents, patches))
        self._validator = Validator(mode, strict=strict, talos=talos)
        self._validator.remember(self.documents)
        self._fragments = Fragments()
        self._fragments.keep(self.documents)

    def render(self, patches: Sequence[Patch] = ()) -> Rendered:
        """The config of one node, with its own patches laid over the base."""
        documents = tuple(apply_patches(self.documents, patches))
        findings = tuple(self._validator.validate(documents))
        return Rendered(documents, self._fragments.text(documents), findings)
