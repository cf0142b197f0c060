"""Writes a new inventory: short commented files that are valid as they stand, and nothing over what is there."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from talosmith.errors import TalosmithError, UsageError
from talosmith.inventory.json_schema import editor_schema
from talosmith.inventory.load import check
from talosmith.inventory.sources import CLUSTER_FILE, NODES_FILE
from talosmith.inventory.starter import NewInventory, cluster_text, nodes_text

SCHEMA_FOLDER = ".talosmith"
IGNORED = """\
# What talosmith writes with keys in it. secrets.sops.yaml is encrypted and belongs into the repository.
talosconfig
kubeconfig
rendered/
secrets.yaml
*.agekey
keys.txt
age.key
"""


def create(folder: Path, answers: NewInventory) -> list[Path]:
    """Writes the files and returns their paths; refuses before the first one if any is there or would be wrong."""
    files = _files(answers)
    for name in files:
        if os.path.lexists(folder / name):
            raise TalosmithError(
                f"{folder / name} is already there",
                hint="nothing was written; choose another folder with `talosmith init FOLDER`",
            )
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


def _files(answers: NewInventory) -> dict[str, str]:
    return {
        CLUSTER_FILE: cluster_text(answers),
        NODES_FILE: nodes_text(answers),
        f"{SCHEMA_FOLDER}/cluster.schema.json": json.dumps(editor_schema("cluster"), indent=1) + "\n",
        f"{SCHEMA_FOLDER}/nodes.schema.json": json.dumps(editor_schema("nodes"), indent=1) + "\n",
    }


def _try_out(files: dict[str, str]) -> None:
    """The answers may be wrong; that is found where nothing of the user's can be harmed."""
    with tempfile.TemporaryDirectory(prefix="talosmith-init-") as scratch:
        for name in (CLUSTER_FILE, NODES_FILE):
            (Path(scratch) / name).write_text(files[name], encoding="utf-8")
        report = check(scratch)
    wrong = [problem for problem in report.problems if problem.severity == "error"]
    if wrong:
        said = "; ".join(problem.what for problem in wrong)
        hints = "; ".join(dict.fromkeys(problem.fix for problem in wrong if problem.fix))
        raise UsageError(f"these answers do not make a cluster: {said}", hint=hints)


def _ignore(folder: Path) -> Path | None:
    """`.gitignore` gets the lines it lacks; what stands in it stays."""
    path = folder / ".gitignore"
    present = path.read_text(encoding="utf-8") if path.exists() else ""
    missing = [line for line in IGNORED.splitlines() if line not in present.splitlines()]
    if not missing:
        return None
    with path.open("a", encoding="utf-8") as file:
        file.write(("\n" if present and not present.endswith("\n") else "") + "\n".join(missing) + "\n")
    return path
