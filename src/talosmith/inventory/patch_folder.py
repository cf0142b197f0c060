"""The folder `patches/` of an inventory: what is applied by where it lies, and what lies where nothing applies it.

A patch that is not applied is worse than none, because its author believes it is: a misspelt folder, `.yml` or a link
that leads nowhere is an error with the likely meaning. Other files (notes, backups, hidden ones) are left alone.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import groupby
from pathlib import Path

from talosmith.errors import Problem
from talosmith.files.regular import FileTrouble, escapes, read_content, shown
from talosmith.inventory.parse import Document, Unreadable, parse

SCOPES = ("global", "controlplane", "worker", "nodes")
_SUFFIXES = (".yaml", ".yml", ".json")
_DEEPEST = 8
_ELSEWHERE = {
    "all": "global",
    "common": "global",
    "cluster": "global",
    "cp": "controlplane",
    "master": "controlplane",
}
_WHY = "patches are applied from patches/global, controlplane, worker and nodes (*.yaml), or by name from `patches:`"


@dataclass
class PatchFolder:
    """Patches by scope (`global`, a role, `nodes/<name>`), and files that look like patches and are in no scope."""

    path: Path = Path()
    scoped: dict[str, list[Document]] = field(default_factory=dict)
    others: list[Path] = field(default_factory=list)


def read_patches(folder: Path, problems: list[Problem]) -> PatchFolder:
    """What `patches/` of an inventory's folder holds."""
    found = PatchFolder(folder / "patches")
    if not os.path.lexists(found.path):
        return found
    root = Path(os.path.realpath(folder))
    for path in _files(found.path, problems):
        inside = path.relative_to(found.path).parts
        if len(inside) != 2 or inside[0] not in SCOPES or path.suffix != ".yaml":
            found.others.append(path)
            continue
        try:
            if escapes(path, root, path.name):
                raise FileTrouble("is a link that leads out of the inventory's folder")
            document = parse(read_content(path), shown(path), several=True)
        except FileTrouble as trouble:
            problems.append(_problem(path, trouble))
        except Unreadable as unreadable:
            problems.extend(unreadable.problems)
        else:
            scope = f"nodes/{path.stem}" if inside[0] == "nodes" else inside[0]
            found.scoped.setdefault(scope, []).append(document)
    return found


def not_applied(found: PatchFolder, named: Collection[str], nodes: Collection[str]) -> Iterator[Problem]:
    """Files in no scope that the inventory does not name either; `named` are real paths."""
    rest = [path for path in found.others if os.path.realpath(path) not in named]
    for folder, group in groupby(rest, key=lambda path: path.parent):
        inside = folder.relative_to(found.path).parts
        paths = list(group)
        if inside and inside[0] not in SCOPES:
            many = f"the {len(paths)} patches" if len(paths) > 1 else f"the patch {paths[0].name}"
            fix = _folder_fix(inside[0], nodes)
            yield Problem("error", f"nothing applies {many} in this folder", _WHY, fix, shown(folder))
            continue
        for path in paths:
            yield Problem("error", "nothing applies this patch", _WHY, _file_fix(path, inside, nodes), shown(path))


def _files(folder: Path, problems: list[Problem], depth: int = 0) -> Iterator[Path]:
    """Files that look like patches, by name, those of a folder together."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as wrong:
        problems.append(_no_folder(folder, wrong))
        return
    folders = []
    for path in entries:
        hidden = path.name.startswith(".")
        if path.is_symlink() and not path.exists():
            if not hidden:
                problems.extend(_dangling(path))
        elif path.is_dir() or (depth == 0 and path.name in SCOPES):
            folders.append(path)
        elif path.suffix.lower() in _SUFFIXES and (not hidden or path.suffix == ".yaml"):
            yield path
    for path in folders:
        # A link is followed from `patches/` itself only: further down it may lead round in circles.
        if depth < _DEEPEST and (depth == 0 or not path.is_symlink()):
            yield from _files(path, problems, depth + 1)


def _dangling(path: Path) -> Iterator[Problem]:
    try:
        read_content(path, 0)
    except FileTrouble as trouble:
        yield _problem(path, trouble)


def _problem(path: Path, trouble: FileTrouble) -> Problem:
    return Problem("error", f"the patch {trouble}", fix="" if trouble.missing else trouble.fix, file=shown(path))


def _no_folder(folder: Path, wrong: OSError) -> Problem:
    what = f"cannot be read: {wrong.strerror}" if folder.is_dir() else "is not a folder"
    if folder.is_symlink() and not folder.exists():
        what = f"is a symbolic link to {folder.readlink()}, which does not exist"
    return Problem("error", f"the folder of patches {what}", file=shown(folder))


def _folder_fix(name: str, nodes: Collection[str]) -> str:
    if name in nodes:
        return f"did you mean patches/nodes/{name}.yaml?"
    scope = _scope_like(name)
    return f"did you mean patches/{scope}/?" if scope else "move it to patches/global/, or name it in `patches:`"


def _file_fix(path: Path, inside: tuple[str, ...], nodes: Collection[str]) -> str:
    if not inside:
        if path.stem in nodes:
            return f"did you mean patches/nodes/{path.stem}.yaml?"
        return f"move it to patches/{_scope_like(path.stem) or 'global'}/, or name it in `patches:`"
    if len(inside) == 1:
        return f"rename it to {path.stem}.yaml"
    if inside[0] == "nodes":
        return f"did you mean patches/nodes/{inside[1]}.yaml?"
    return f"move it to patches/{inside[0]}/"


def _scope_like(name: str) -> str:
    if name.lower() in _ELSEWHERE:
        return _ELSEWHERE[name.lower()]
    close = get_close_matches(name.lower(), SCOPES, n=1)
    return close[0] if close else ""
