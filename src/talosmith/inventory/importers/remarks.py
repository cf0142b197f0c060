"""What an import has to say: everything that was left out, and what is worth knowing, each with its place."""

from __future__ import annotations

from dataclasses import dataclass

from talosmith.errors import Problem, Severity
from talosmith.inventory.parse import Document, Path


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing about one place. `left_out`: the inventory lacks it; otherwise it is only worth knowing."""

    path: str  # in the file that is imported, for example nodes[0].schematic
    what: str
    why: str = ""
    fix: str = ""
    file: str = ""
    line: int = 0
    left_out: bool = True

    @property
    def problem(self) -> Problem:
        severity: Severity = "warning" if self.left_out else "note"
        what = f"`{self.path}`: {self.what}" if self.path else self.what
        return Problem(severity, what, self.why, self.fix, self.file, self.line)


class Remarks:
    """Collects the remarks about one file."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._found: dict[Remark, None] = {}

    def left_out(
        self, path: Path, what: str, why: str = "", fix: str = "", *, at: tuple[str, int] | None = None
    ) -> None:
        """`at`: file and line, where that is not the place of `path` itself."""
        self._add(path, what, why, fix, at, left_out=True)

    def note(self, path: Path, what: str, why: str = "", fix: str = "") -> None:
        self._add(path, what, why, fix, None, left_out=False)

    def all(self) -> tuple[Remark, ...]:
        return tuple(self._found)

    def _add(self, path: Path, what: str, why: str, fix: str, at: tuple[str, int] | None, *, left_out: bool) -> None:
        file, line = at or (self._document.file, self._document.locate(path, of_key=True)[0])
        self._found[Remark(dotted(path), what, why, fix, file, line, left_out)] = None


def dotted(path: Path) -> str:
    """`nodes[0].nodeLabels["example.org/rack"]`"""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step and all(character.isalnum() or character in "-_" for character in step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text
