"""Writes an imported inventory: tried out first, nothing over what is there, nothing among patches of others."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

from talosmith.errors import SecretsError, TalosmithError
from talosmith.files.git import ignore_command, not_ignored
from talosmith.files.regular import shown
from talosmith.files.secret import create_secret
from talosmith.inventory.create import IGNORED, SCHEMA_FOLDER
from talosmith.inventory.importers.remarks import Remark
from talosmith.inventory.json_schema import editor_schema
from talosmith.inventory.load import check
from talosmith.inventory.patch_folder import SCOPES


@dataclass(frozen=True, slots=True)
class Imported:
    """An inventory's files by their names, and remarks on the conversion."""

    files: Mapping[str, str] = field(repr=False)
    remarks: tuple[Remark, ...]
    private: bool = False  # something in the files was hidden where it came from
    secrets: str = ""  # the file with the cluster's secrets, for another command to import

    @property
    def complete(self) -> bool:
        return not any(remark.left_out for remark in self.remarks)


def write(folder: Path, imported: Imported) -> list[Path]:
    """Write the files and return their paths; refuse before the first one if one exists or is wrong."""
    files = dict(imported.files)
    files[f"{SCHEMA_FOLDER}/cluster.schema.json"] = _schema("cluster")
    files[f"{SCHEMA_FOLDER}/nodes.schema.json"] = _schema("nodes")
    if not os.path.lexists(folder / ".gitignore"):
        files[".gitignore"] = IGNORED
    if imported.private and not_ignored(folder / name for name in imported.files):
        raise SecretsError(
            f"{shown(folder)} would hold secrets where Git does not ignore it",
            hint=f"import without --reveal, or ignore the folder: {ignore_command(folder)}",
        )
    _refuse_to_mix(folder, files)
    _try_out(imported.files)
    for name, text in files.items():
        try:
            _create(folder / name, text, private=imported.private)
        except OSError as problem:
            raise TalosmithError(f"cannot write {shown(folder / name)}: {problem.strerror}") from None
    return [folder / name for name in files]


@cache
def _schema(part: Literal["cluster", "nodes"]) -> str:
    return json.dumps(editor_schema(part), indent=1) + "\n"


def _create(path: Path, text: str, *, private: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if private:
        create_secret(path, text.encode())
        return
    with path.open("x", encoding="utf-8") as file:
        file.write(text)


def _refuse_to_mix(folder: Path, files: Mapping[str, str]) -> None:
    hint = "nothing was written; choose another folder with --into"
    for name in files:
        if os.path.lexists(folder / name):
            raise TalosmithError(f"{shown(folder / name)} already exists", hint=hint)
    for scope in SCOPES:
        # Whatever lies there would be applied as well.
        for path in sorted((folder / "patches" / scope).glob("*.yaml")):
            raise TalosmithError(f"{shown(path)} exists and would become a patch of the inventory", hint=hint)


def _try_out(files: Mapping[str, str]) -> None:
    with tempfile.TemporaryDirectory(prefix="talosmith-import-") as scratch:
        for name, text in files.items():
            path = Path(scratch) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        report = check(scratch)
    wrong = [problem for problem in report.problems if problem.severity == "error"]
    if wrong:
        causes = "; ".join(problem.what + (f" ({problem.why})" if problem.why else "") for problem in wrong)
        hints = "; ".join(dict.fromkeys(problem.fix for problem in wrong if problem.fix))
        raise TalosmithError(f"the converted inventory is not valid: {causes}", hint=hints)
