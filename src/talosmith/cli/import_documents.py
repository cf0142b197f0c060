"""Imported inventories for Talos 1.14: their patches become documents, as `config migrate` would make them.

Other tools write patches in v1alpha1 form, which Talos 1.14 refuses beside the documents of a fresh config. What has
no equal stays as it is, with a remark; if both forms did not mean the same, all of it would.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

from talosmith.desired.config.migrate.edited import edited_cluster
from talosmith.desired.config.migrate.inventory import InventoryMigration, migrate_inventory
from talosmith.desired.config.migrate.proof import NEW, prove
from talosmith.errors import InventoryError
from talosmith.inventory.importers import Imported, Remark
from talosmith.inventory.load import check_sources
from talosmith.inventory.sources import CLUSTER_FILE, read
from talosmith.model.allowed import EVERYTHING


def in_documents(imported: Imported) -> Imported:
    """The inventory with its patches in the form of its Talos version."""
    with tempfile.TemporaryDirectory(prefix="talosmith-import-") as scratch:
        folder = Path(scratch)
        for name, text in imported.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        sources = read(folder / CLUSTER_FILE)
        report = check_sources(sources, CLUSTER_FILE, allow=EVERYTHING)
        if not report.valid or report.cluster.talos_version.line < NEW:
            return imported  # writing it says what is wrong with it
        try:
            found = migrate_inventory(report.cluster, sources)
            after = edited_cluster(sources, found.changes, CLUSTER_FILE)
        except InventoryError:
            return imported
        proofs = list(prove(report.cluster, after)) if found.changes else []
    files = dict(imported.files)
    for change in found.changes:
        name = _name(change.path, folder)
        files.pop(name, None)
        if change.after is not None:
            files[name] = change.after
    unequal = [one.node for one in proofs if not one.equal]
    if unequal:
        why = f"the two forms could not be shown to mean the same on {', '.join(unequal)}"
        remarks = (_remark("patches are in v1alpha1 form", why), *_kept(found, folder))
        return replace(imported, remarks=(*imported.remarks, *remarks))
    return replace(imported, files=files, remarks=(*imported.remarks, *_kept(found, folder)))


def _kept(found: InventoryMigration, folder: Path) -> list[Remark]:
    return [
        Remark(
            "", f"{_name(source, folder)}: {kept.old} stays in v1alpha1 form", kept.reason, kept.fix, left_out=False
        )
        for source, kept in found.kept
    ]


def _name(source: str, folder: Path) -> str:
    """Files are named as seen from the working directory, where that is shorter."""
    return os.path.relpath(source, folder)


def _remark(what: str, why: str) -> Remark:
    return Remark("", what, why, "run `talosmith config migrate` for the differences", left_out=False)
