"""A small talconfig that imports completely, and ways to change and import it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml

from talosmith.cli.import_ import refusal, schematic_id
from talosmith.inventory import load
from talosmith.inventory.importers import Imported, Remark, import_talconfig, write
from talosmith.model.cluster import Cluster

PLAIN: dict[str, Any] = {
    "clusterName": "home",
    "talosVersion": "v1.13.4",
    "kubernetesVersion": "v1.35.2",
    "endpoint": "https://10.0.0.5:6443",
    "nodes": [
        {"hostname": "cp-1", "ipAddress": "10.0.0.11", "controlPlane": True, "installDisk": "/dev/sda"},
        {"hostname": "w-1", "ipAddress": "10.0.0.21", "controlPlane": False, "installDisk": "/dev/sda"},
    ],
}


def talconfig(*, nodes: Mapping[int, Mapping[str, Any]] | None = None, **top: Any) -> dict[str, Any]:
    """The plain one with other top-level keys, and more keys for single nodes."""
    made = deepcopy(PLAIN) | top
    for index, more in (nodes or {}).items():
        made["nodes"][index] |= more
    return made


def save(folder: Path, data: Mapping[str, Any] | str) -> Path:
    file = folder / "talconfig.yaml"
    file.write_text(data if isinstance(data, str) else yaml.safe_dump(data, sort_keys=False))
    return file


def do_import(folder: Path, data: Mapping[str, Any] | str, *, reveal: bool = False, **environment: str) -> Imported:
    return import_talconfig(save(folder, data), schematic_id, refusal, reveal=reveal, environment=environment)


def do_load(folder: Path, data: Mapping[str, Any] | str) -> Cluster:
    """The cluster of the written inventory; nothing may be left out."""
    imported = do_import(folder, data)
    assert imported.complete, imported.remarks
    write(folder / "inventory", imported)
    return load(folder / "inventory")


def left_out(imported: Imported) -> list[Remark]:
    return [remark for remark in imported.remarks if remark.left_out]


def notes(imported: Imported) -> list[Remark]:
    return [remark for remark in imported.remarks if not remark.left_out]


def patch(imported: Imported, name: str) -> list[Any]:
    """The documents of a written patch."""
    return list(yaml.safe_load_all(imported.files[f"patches/{name}.yaml"]))


def entry(imported: Imported, name: str) -> dict[str, Any]:
    """A node's entry in nodes.yaml, with what its role says."""
    for group in yaml.safe_load(imported.files["nodes.yaml"]).values():
        listed = group if isinstance(group, list) else group["nodes"]
        common = {} if isinstance(group, list) else {key: value for key, value in group.items() if key != "nodes"}
        for node in listed:
            if node["name"] == name:
                return {**common, **node}
    raise KeyError(name)
