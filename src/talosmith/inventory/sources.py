"""Finds the files of an inventory and reads them: the folder, what it extends, its patches. Nothing else is opened.

Names that stand in an inventory (`extends`, patch files) are held inside a root: the folder itself for patches, the
folder around it for `extends`, so that `../base` works and `../../etc` does not, with or without symlinks.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from talosmith.errors import Problem, UsageError
from talosmith.files.regular import FileTrouble, escapes, is_folder, read_content, shown
from talosmith.inventory.parse import Document, Unreadable, parse
from talosmith.inventory.patch_folder import PatchFolder, read_patches

CLUSTER_FILE = "cluster.yaml"
NODES_FILE = "nodes.yaml"
MAX_EXTENDS = 10


@dataclass
class Layer:
    """One folder of an inventory: its files, and its folder `patches/`."""

    folder: Path
    documents: list[Document] = field(default_factory=list)
    patch_folder: PatchFolder = field(default_factory=PatchFolder)


@dataclass
class Sources:
    """All layers, the extended ones first, and what was wrong with the files."""

    layers: list[Layer]
    problems: list[Problem]

    @property
    def folder(self) -> Path:
        return self.layers[-1].folder


def find(inventory: str | os.PathLike[str] | None, environment: str | None = None) -> Path:
    """The `cluster.yaml` that is meant: given, from TALOSMITH_INVENTORY, or found by walking up from here."""
    if environment is not None and not _is_simple_name(environment):
        raise UsageError(f"`{environment}` is not the name of an environment", hint="it is a folder's name")
    given = inventory or os.environ.get("TALOSMITH_INVENTORY")
    if given:
        start = Path(given)
        if not is_folder(start):
            if environment is None:
                return start
            start = start.parent
        found = _in_folder(start, environment)
        if found:
            return found
        if start.name == CLUSTER_FILE and environment is None:
            return start  # reading it says that it is a folder
        raise _nothing_in(start, environment)
    here = Path.cwd()
    for folder in (here, *here.parents):
        found = _in_folder(folder, environment)
        if found:
            return found
        if environment is None and _environments(folder / "inventory"):
            raise _nothing_in(folder / "inventory", None)
    raise UsageError(
        f"no {CLUSTER_FILE} here or in any folder above" + (f" for `{environment}`" if environment else ""),
        hint="name one with -i FOLDER, or create one with `talosmith init`",
    )


def read(cluster_file: Path) -> Sources:
    """Everything the inventory consists of. Problems are collected; a missing file is one."""
    sources = Sources([], [])
    folder = cluster_file.parent
    root = Path(os.path.realpath(folder)).parent
    seen: list[str] = []
    next_file: Path | None = cluster_file
    while next_file is not None:
        real = os.path.realpath(next_file)
        seen.append(real)
        layer = Layer(next_file.parent)
        sources.layers.insert(0, layer)
        main = _read_into(sources, layer, next_file, required=True)
        if next_file.name == CLUSTER_FILE:
            _read_into(sources, layer, next_file.with_name(NODES_FILE), required=False)
        layer.patch_folder = read_patches(layer.folder, sources.problems)
        next_file = _extended(sources, main, next_file, root, seen) if main else None
    return sources


def read_patch(sources: Sources, layer: Layer, name: str, at: Problem) -> Document | None:
    """A patch file that the inventory names; it must lie inside the inventory's folder."""
    path = Path(os.path.normpath(layer.folder / name))
    if escapes(path, Path(os.path.realpath(layer.folder)), name):
        sources.problems.append(
            _with(at, what=f"the patch `{name}` is not inside the inventory's folder", fix="copy it there")
        )
        return None
    try:
        return parse(read_content(path), shown(path), several=True)
    except FileTrouble as trouble:
        fix = "" if trouble.missing else trouble.fix
        sources.problems.append(_with(at, what=f"the patch `{name}` {trouble}", fix=fix))
    except Unreadable as unreadable:
        sources.problems.extend(unreadable.problems)
    return None


def _in_folder(folder: Path, environment: str | None) -> Path | None:
    places = [folder]
    if environment is not None:
        places = [folder / environment, folder / "inventory" / environment]
        if os.path.lexists(folder / CLUSTER_FILE):  # an environment itself: the other one is beside it
            places.append(folder.absolute().parent / environment)
    # Whatever has the name is meant: reading it says what is wrong with it.
    return next((place / CLUSTER_FILE for place in places if os.path.lexists(place / CLUSTER_FILE)), None)


def _environments(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob(f"*/{CLUSTER_FILE}"))


def _nothing_in(folder: Path, environment: str | None) -> UsageError:
    names = _environments(folder) or _environments(folder / "inventory")
    what = f"no {CLUSTER_FILE} in {shown(folder)}" + (f" for `{environment}`" if environment else "")
    choices = ", ".join(names)
    hint = f"choose one with -e: {choices}" if names else "create one with `talosmith init`"
    return UsageError(what, hint=hint)


def _is_simple_name(name: str) -> bool:
    return name not in ("", ".", "..") and not any(char in name for char in "/\\\0\n")


def _read_into(sources: Sources, layer: Layer, path: Path, *, required: bool) -> Document | None:
    try:
        document = parse(read_content(path), shown(path))
    except FileTrouble as trouble:
        if required or not trouble.missing:
            sources.problems.append(Problem("error", f"the file {trouble}", fix=trouble.fix, file=shown(path)))
        return None
    except Unreadable as unreadable:
        sources.problems.extend(unreadable.problems)
        return None
    if document.data is None:
        document.documents = [{}]
    if not isinstance(document.data, dict):
        what = "the file is not a mapping of keys to values"
        sources.problems.append(Problem("error", what, file=document.file, line=1, column=1))
        return None
    layer.documents.append(document)
    return document


def _extended(sources: Sources, main: Document, file: Path, root: Path, seen: list[str]) -> Path | None:
    name = main.data.get("extends")
    if name is None:
        return None
    line, column = main.locate(("extends",))
    at = Problem("error", "", file=main.file, line=line, column=column)
    if not isinstance(name, str) or not name:
        return None  # the schema says what is wrong with it
    path = Path(os.path.normpath(file.parent / name))
    if escapes(path, root, name.removeprefix("../")):
        what = f"`extends: {name}` is outside of the folder that contains the inventories"
        sources.problems.append(_with(at, what=what, fix="name a folder beside this one, for example ../base"))
        return None
    target = path / CLUSTER_FILE if is_folder(path) else path
    if os.path.realpath(target) in seen or len(seen) > MAX_EXTENDS:
        what = f"`extends: {name}` is a cycle: that inventory extends this one"
        sources.problems.append(_with(at, what=what, fix="an inventory cannot extend itself"))
        return None
    if not os.path.lexists(target):
        sources.problems.append(_with(at, what=f"`extends: {name}`: {shown(target)} does not exist"))
        return None
    return target


def _with(at: Problem, *, what: str, fix: str = "") -> Problem:
    return Problem("error", what, fix=fix, file=at.file, line=at.line, column=at.column)
