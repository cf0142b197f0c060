"""The patches of a whole inventory in the form of Talos 1.14: which files change, and to what.

Pure: it works on the files as they were read. A patch for all nodes is split where Talos takes a document from
control planes only: that part becomes a file of `patches/controlplane/`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from talosmith.desired.config.migrate.entries import Place, entry_with, rewritten
from talosmith.desired.config.migrate.moved import BOTH, Kept, Migration, Scope
from talosmith.desired.config.migrate.patch import migrate_patch, migrate_value
from talosmith.desired.machine.storage import SINCE_INSTALL_DOCUMENT, storage_documents
from talosmith.inventory.sources import Layer, Sources
from talosmith.model.cluster import Cluster, Node, Patch, Role

_MOVED_AWAY = "# moved to {file}, as workers take none of it\nmachine: {{}}\n"


@dataclass(frozen=True, slots=True)
class FileChange:
    """`before` is None for a file that does not exist yet, `after` for one that has nothing left in it."""

    path: str  # as the user would type it
    before: str | None = field(repr=False)
    after: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class InventoryMigration:
    changes: tuple[FileChange, ...]
    migrations: tuple[Migration, ...]  # of each patch, by its source

    @property
    def kept(self) -> list[tuple[str, Kept]]:
        return [(one.source, kept) for one in self.migrations for kept in one.kept]

    @property
    def blocking(self) -> list[tuple[str, Kept]]:
        return [(source, kept) for source, kept in self.kept if kept.blocking]


def migrate_inventory(cluster: Cluster, sources: Sources) -> InventoryMigration:
    """Every patch that the cluster's nodes get, file by file."""
    work = _Work(cluster, sources)
    for patch, roles, nodes in patches_of(cluster):
        work.patch(patch, roles, nodes)
    changes = tuple(change for change in work.changes.values() if change.before != change.after)
    return InventoryMigration(changes, tuple(work.migrations))


def migrate(patch: Patch, scope: Scope) -> Migration:
    if patch.text is not None:
        return migrate_patch(patch.text, patch.source, scope)
    return migrate_value(patch.value, patch.source, scope)


def scope_of(cluster: Cluster, roles: frozenset[Role], nodes: list[Node]) -> Scope:
    matches = {_install_match(node) for node in nodes}
    return Scope(
        roles,
        tainted=not cluster.kubernetes.schedule_on_controlplanes,
        install_match=matches.pop() if len(matches) == 1 else "",
    )


def _install_match(node: Node) -> str:
    """The install disk as the inventory's own document names it."""
    for document in storage_documents(node, SINCE_INSTALL_DOCUMENT, ""):
        if document["kind"] == "UnattendedInstallConfig":
            return str(document["provisioning"]["diskSelector"]["match"])
    return ""


class _Work:
    def __init__(self, cluster: Cluster, sources: Sources) -> None:
        self.cluster = cluster
        self.sources = sources
        self.changes: dict[str, FileChange] = {}
        self.migrations: list[Migration] = []
        self._edits: dict[str, list[tuple[Place, str]]] = {}
        self._named = {
            document.file
            for layer in sources.layers
            for documents in layer.patch_folder.scoped.values()
            for document in documents
        }

    def patch(self, patch: Patch, roles: frozenset[Role], nodes: list[Node]) -> None:
        scope = scope_of(self.cluster, roles, nodes)
        if patch.text is not None:
            self._file(patch.source, patch.text, scope)
        else:
            self._entry(patch.source, patch.value, scope)

    def _file(self, file: str, text: str, scope: Scope) -> None:
        migration = migrate_patch(text, file, scope)
        self.migrations.append(migration)
        if not migration.moved:
            return
        after: str | None = migration.text or None
        if migration.controlplane:
            new = self._controlplane_file(file, migration.controlplane)
            if after is None and file not in self._named:  # the inventory names the file, so it stays
                after = _MOVED_AWAY.format(file=f"patches/controlplane/{Path(new).name}")
        self.changes[file] = FileChange(file, text, after)

    def _entry(self, source: str, value: Any, scope: Scope) -> None:
        """An entry of `patches:` in cluster.yaml or nodes.yaml."""
        file, _, line = source.rpartition(":")
        original = self._text(file)
        taken = [one.first for one, _ in self._edits.get(file, ())]
        place = entry_with(original, int(line), value, taken)
        if place is None:
            migration = migrate_value(value, source, scope)
            if migration.moved:
                why, fix = (
                    "the entry is in flow style, or has an anchor",
                    "write it as a block, or as a file of patches/",
                )
                kept = tuple(Kept(one.old, why, fix, blocking=True) for one in migration.moved)
                migration = Migration(source, "", kept=(*kept, *migration.kept))
            self.migrations.append(migration)
            return
        migration = migrate_patch(place.text, source, scope)
        self.migrations.append(migration)
        if not migration.moved:
            return
        if migration.controlplane:
            self._controlplane_file(file, migration.controlplane)
        edits = self._edits.setdefault(file, [])
        edits.append((place, migration.text))
        self.changes[file] = FileChange(file, original, rewritten(original, edits))

    def _text(self, file: str) -> str:
        return next(
            document.text for layer in self.sources.layers for document in layer.documents if document.file == file
        )

    def _controlplane_file(self, file: str, text: str) -> str:
        """A new file for control planes, in the layer that the patch belongs to."""
        layer = next((one for one in self.sources.layers if _inside(file, one)), self.sources.layers[-1])
        folder = Path(file).parents[1] / "controlplane" if file in self._named else _shown_folder(layer)
        stem, number = Path(file).stem, 1
        while True:
            name = str(folder / f"{stem}{'' if number == 1 else f'-{number}'}.yaml")
            if name not in self._named and name not in self.changes:
                break
            number += 1
        self.changes[name] = FileChange(name, None, text)
        return name


def _inside(file: str, layer: Layer) -> bool:
    return any(document.file == file for document in layer.documents) or any(
        document.file == file for documents in layer.patch_folder.scoped.values() for document in documents
    )


def _shown_folder(layer: Layer) -> Path:
    shown = Path(layer.documents[0].file).parent if layer.documents else layer.folder
    return shown / "patches" / "controlplane"


def patches_of(cluster: Cluster) -> list[tuple[Patch, frozenset[Role], list[Node]]]:
    """Each patch once, with the roles and nodes it is applied to."""
    found: dict[str, tuple[Patch, set[Role], list[Node]]] = {}

    def add(patch: Patch, roles: frozenset[Role], nodes: list[Node], of: str = "") -> None:
        _, known, there = found.setdefault(patch_key(patch) + of, (patch, set(), []))
        known.update(roles)
        there.extend(node for node in nodes if node not in there)

    for patch in cluster.patches:
        add(patch, BOTH, list(cluster.nodes))
    for role, patches in cluster.role_patches.items():
        for patch in patches:
            add(patch, frozenset((role,)), [node for node in cluster.nodes if node.role == role])
    for node in cluster.nodes:
        for patch in node.patches:
            # Two nodes may name one file; entries of the same content are still two.
            add(patch, frozenset((node.role,)), [node], "" if patch.text is not None else f" of {node.name}")
    return [(patch, frozenset(roles), nodes) for patch, roles, nodes in found.values()]


def patch_key(patch: Patch) -> str:
    """What tells patches apart: the file; of entries of an inventory, several may have the same place."""
    return patch.source if patch.text is not None else f"{patch.source} {patch.value!r}"


def with_patches(cluster: Cluster, texts: dict[str, Patch | None]) -> Cluster:
    """The cluster with some patches exchanged, or left out, by their key."""

    def exchanged(patches: tuple[Patch, ...]) -> tuple[Patch, ...]:
        made = (texts.get(patch_key(patch), patch) for patch in patches)
        return tuple(patch for patch in made if patch is not None)

    return replace(
        cluster,
        patches=exchanged(cluster.patches),
        role_patches={role: exchanged(patches) for role, patches in cluster.role_patches.items()},
        nodes=tuple(replace(node, patches=exchanged(node.patches)) for node in cluster.nodes),
    )
