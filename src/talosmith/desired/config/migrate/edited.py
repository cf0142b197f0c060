"""An inventory with some of its files rewritten, in memory: what loading it again would give."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from talosmith.desired.config.migrate.inventory import FileChange, with_patches
from talosmith.inventory.load import check_sources
from talosmith.inventory.parse import Document, parse
from talosmith.inventory.patch_folder import PatchFolder
from talosmith.inventory.sources import Layer, Sources
from talosmith.model.allowed import EVERYTHING
from talosmith.model.cluster import Cluster, Patch


def edited_cluster(sources: Sources, changes: Sequence[FileChange], name: str) -> Cluster:
    """The cluster of the rewritten inventory; raises `InventoryError` if it is wrong."""
    texts = {change.path: change.after for change in changes}
    layers = [_layer(layer, texts) for layer in sources.layers]
    cluster = check_sources(Sources(layers, list(sources.problems)), name, allow=EVERYTHING).cluster
    # Files that the inventory names are read from the disk, where they are still the old ones.
    named = {path: None if text is None else Patch(path, text=text) for path, text in texts.items()}
    return with_patches(cluster, named)


def _layer(layer: Layer, texts: dict[str, str | None]) -> Layer:
    documents = [_document(one, texts) for one in layer.documents]
    scoped: dict[str, list[Document]] = {}
    for scope, found in layer.patch_folder.scoped.items():
        kept = [_document(one, texts) for one in found if texts.get(one.file, "") is not None]
        if kept:
            scoped[scope] = kept
    folder = Path(layer.documents[0].file).parent / "patches" if layer.documents else layer.patch_folder.path
    known = {one.file for found in scoped.values() for one in found}
    for path, text in texts.items():
        if text is not None and path not in known and Path(path).parent == folder / "controlplane":
            scoped.setdefault("controlplane", []).append(parse(text.encode(), path, several=True))
    if "controlplane" in scoped:
        scoped["controlplane"].sort(key=lambda one: Path(one.file).name)
    return Layer(layer.folder, documents, PatchFolder(layer.patch_folder.path, scoped, layer.patch_folder.others))


def _document(document: Document, texts: dict[str, str | None]) -> Document:
    text = texts.get(document.file)
    return document if text is None else parse(text.encode(), document.file, several=True)
