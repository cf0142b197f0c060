"""Patches of an inventory: files of the folder `patches/`, and what the inventory itself holds or names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from talosmith.errors import Problem
from talosmith.inventory.findings import Finding
from talosmith.inventory.merge import Merged
from talosmith.inventory.parse import Document, Path
from talosmith.inventory.patch_folder import not_applied
from talosmith.inventory.sources import read_patch
from talosmith.model.cluster import Patch


class PatchFiles:
    """The patches of a scope in the order they are applied: files by name, extended layers first, then entries."""

    def __init__(self, merged: Merged) -> None:
        self._merged = merged
        self._files: dict[str, tuple[Document, ...]] = {}
        self._named: set[str] = set()  # real paths of the files that the inventory names
        for layer in merged.sources.layers:
            for scope, documents in layer.patch_folder.scoped.items():
                self._files[scope] = (*self._files.get(scope, ()), *documents)

    def __call__(self, scope: str, path: Path, entries: list[Any]) -> tuple[Patch, ...]:
        files = self._files.get(scope)
        if files is None and not entries:
            return ()
        from_files = [_patch(document) for document in files or ()]
        from_entries = [self._entry((*path, index), entry) for index, entry in enumerate(entries)]
        return (*from_files, *(patch for patch in from_entries if patch is not None))

    def unused(self, names: set[str]) -> Iterator[Finding]:
        """Patch files for nodes that do not exist: most likely a name was mistyped."""
        for scope, documents in self._files.items():
            name = scope.removeprefix("nodes/")
            if name != scope and name not in names:
                close = get_close_matches(name, names, n=1)
                fix = f"did you mean patches/nodes/{close[0]}.yaml?" if close else "rename or remove it"
                what = f"{documents[0].file}: the cluster has no node `{name}`"
                yield Finding("error", (), what, "the patch would never be applied", fix)

    def not_applied(self, names: set[str]) -> Iterator[Problem]:
        """Files of the folders `patches/` that nothing applies: most likely a folder or an ending was mistyped."""
        for layer in self._merged.sources.layers:
            yield from not_applied(layer.patch_folder, self._named, names)

    def _entry(self, path: Path, entry: Any) -> Patch | None:
        if not isinstance(entry, str):
            return Patch(self._merged.origin(path), value=entry)
        layer = self._merged.layer_of(path)
        self._named.add(os.path.realpath(layer.folder / entry.replace("\0", "")))
        document = read_patch(self._merged.sources, layer, entry, self._place(path))
        return _patch(document) if document else None

    def _place(self, path: Path) -> Problem:
        return self._merged.problem("error", path, "")


def _patch(document: Document) -> Patch:
    return Patch(document.file, text=document.text)
