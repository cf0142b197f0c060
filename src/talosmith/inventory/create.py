"""Creates a new inventory: short commented files that are valid, and no file that exists is overwritten."""

from __future__ import annotations

import json
import os
import shlex
import tempfile
from pathlib import Path
from typing import Literal

from talosmith.errors import TalosmithError, UsageError
from talosmith.inventory.json_schema import editor_schema
from talosmith.inventory.load import check
from talosmith.inventory.sources import CLUSTER_FILE, NODES_FILE
from talosmith.inventory.starter import NewInventory, cluster_text, nodes_text

SCHEMA_FOLDER = ".talosmith"
_PARTS: tuple[Literal["cluster", "nodes"], ...] = ("cluster", "nodes")
IGNORED = """\
# Files with secrets in the clear. secrets.sops.yaml is encrypted: commit it.
talosconfig
kubeconfig
rendered/
secrets.yaml
*.agekey
keys.txt
age.key
"""


def create(folder: Path, answers: NewInventory) -> list[Path]:
    """Write the files and return their paths; refuse before the first one if one exists or would be wrong."""
    refuse_existing(folder)
    files = _files(answers)
    _try_out(files)
    written = []
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
        written.append(path)
    ignore = _ignore(folder)
    return [*written, ignore] if ignore else written


def refuse_existing(folder: Path) -> None:
    """Raise if a file of the inventory exists already."""
    for name in (CLUSTER_FILE, NODES_FILE, *(f"{SCHEMA_FOLDER}/{part}.schema.json" for part in _PARTS)):
        if os.path.lexists(folder / name):
            raise TalosmithError(
                f"{folder / name} already exists",
                hint="nothing was written; choose another folder with `talosmith init FOLDER`",
            )


def next_command(folder: Path, *, built: bool, has_secrets: bool) -> str:
    """What to type after the inventory is created."""
    where = "" if folder == Path() else f" -i {shlex.quote(str(folder))}"
    if not has_secrets:
        return f"talosmith secrets init{where}"
    return f"talosmith plan{where}" if built else f"talosmith render configs{where} --out rendered"


def _files(answers: NewInventory) -> dict[str, str]:
    return {
        CLUSTER_FILE: cluster_text(answers),
        NODES_FILE: nodes_text(answers),
        **{
            f"{SCHEMA_FOLDER}/{part}.schema.json": json.dumps(editor_schema(part), indent=1) + "\n" for part in _PARTS
        },
    }


def _try_out(files: dict[str, str]) -> None:
    """Raise if the inventory would be wrong, before a file of the user's is touched."""
    with tempfile.TemporaryDirectory(prefix="talosmith-init-") as scratch:
        for name in (CLUSTER_FILE, NODES_FILE):
            (Path(scratch) / name).write_text(files[name], encoding="utf-8")
        report = check(scratch)
    wrong = [problem for problem in report.problems if problem.severity == "error"]
    if wrong:
        causes = "; ".join(problem.what for problem in wrong)
        hints = "; ".join(dict.fromkeys(problem.fix for problem in wrong if problem.fix))
        raise UsageError(f"the inventory would not be valid: {causes}", hint=hints)


def _ignore(folder: Path) -> Path | None:
    """Add the missing lines to `.gitignore`; the others stay."""
    path = folder / ".gitignore"
    present = path.read_text(encoding="utf-8") if path.exists() else ""
    missing = [line for line in IGNORED.splitlines() if line not in present.splitlines()]
    if not missing:
        return None
    with path.open("a", encoding="utf-8") as file:
        file.write(("\n" if present and not present.endswith("\n") else "") + "\n".join(missing) + "\n")
    return path
