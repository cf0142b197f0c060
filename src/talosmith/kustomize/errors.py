"""What is wrong with manifests: in which file and line, for which reason, and what helps."""

from __future__ import annotations

from pathlib import Path

from talosmith.errors import Permanent
from talosmith.files.regular import shown


class ManifestError(Permanent):
    """Manifests or a kustomization cannot be read or built."""

    def __init__(self, what: str, *, file: Path | None = None, line: int = 0, hint: str = "") -> None:
        self.what = what
        self.file = file
        self.line = line  # from 1; 0: the file as a whole
        place = "" if file is None else f"{shown(file)}:{line}: " if line else f"{shown(file)}: "
        super().__init__(place + what, hint=hint)


class KustomizeRequired(ManifestError):
    """A kustomization uses what only kustomize itself builds."""
