"""Names that completion looks up: nodes, add-ons, environments, labs, machines, faults and runs.

Shells wait for this at every press of Tab, so nothing of talosmith is imported. The exception are node names: the
inventory is resolved once per edit, by the code that commands use, and the names are kept in the user's cache folder.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

Candidates = list[tuple[str, str]]
Given = dict[str, list[str]]

_CLUSTER_FILE = "cluster.yaml"
_ANSWER = 0.5  # seconds that a lab has to answer


def looked_up(name: str, metavar: str, given: Given) -> Candidates:
    """Candidates for an option or argument; empty if nothing can be said about it."""
    if name == "--environment":
        return _environments(given)
    if metavar == "NODE" and name not in ("", "--node"):  # a node of something else, such as Proxmox VE
        return []
    finders = {
        "NODE": _nodes,
        "ADDON": _addons,
        "LAB": _labs,
        "MACHINE": _machines,
        "FAULT": _faults,
        "RUN": _runs,
    }
    finder = finders.get(metavar.strip("[]"))
    return finder(given) if finder is not None else []


def _nodes(given: Given) -> Candidates:
    return _of_inventory(given, "nodes")


def _addons(given: Given) -> Candidates:
    return _of_inventory(given, "addons")


def _of_inventory(given: Given, what: str) -> Candidates:
    file = _inventory_file(given)
    if file is None:
        return []
    kept = _cache_file(file)
    try:
        data = json.loads(kept.read_text(encoding="utf-8"))
        if data["files"] == {path: _stamp(path) for path in data["files"]}:
            return [(name, text) for name, text in data[what]]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    from talosmith.files import make_private_folder, replace_file
    from talosmith.inventory import load
    from talosmith.inventory.sources import read

    cluster = load(file)
    found = {
        "nodes": [(node.name, str(node.role)) for node in (*cluster.controlplanes, *cluster.workers)],
        "addons": [(name, one.reason) for name, one in cluster.addons.items()],
    }
    layers = [layer.folder / name for layer in read(file).layers for name in (_CLUSTER_FILE, "nodes.yaml")]
    data = {"files": {str(path): _stamp(str(path)) for path in (file, *layers)}, **found}
    make_private_folder(kept.parent)
    replace_file(kept, json.dumps(data).encode())
    return found[what]


def _inventory_file(given: Given) -> Path | None:
    """As `inventory.sources.find`, without its messages."""
    environment = (given.get("--environment") or [""])[-1]
    chosen = (given.get("--inventory") or [""])[-1] or os.environ.get("TALOSMITH_INVENTORY", "")
    start = Path(chosen).expanduser().absolute() if chosen else Path.cwd()
    if start.is_file():
        return start if not environment else _in_folder(start.parent, environment)
    for folder in [start] if chosen else [start, *start.parents]:
        found = _in_folder(folder, environment)
        if found is not None:
            return found
    return None


def _in_folder(folder: Path, environment: str) -> Path | None:
    places = [folder]
    if environment:
        places = [folder / environment, folder / "inventory" / environment]
        if (folder / _CLUSTER_FILE).exists():
            places.append(folder.parent / environment)
    return next((place / _CLUSTER_FILE for place in places if (place / _CLUSTER_FILE).is_file()), None)


def _cache_file(file: Path) -> Path:
    from hashlib import sha256

    folder = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(folder) / "talosmith" / "completion" / f"{sha256(str(file).encode()).hexdigest()[:24]}.json"


def _stamp(path: str) -> list[int]:
    try:
        found = Path(path).stat()
    except OSError:
        return []
    return [found.st_mtime_ns, found.st_size]


def _environments(given: Given) -> Candidates:
    chosen = (given.get("--inventory") or [""])[-1] or os.environ.get("TALOSMITH_INVENTORY", "")
    start = Path(chosen).expanduser().absolute() if chosen else Path.cwd()
    for folder in [start] if chosen else [start, *start.parents]:
        around = [folder / "inventory", folder]
        if (folder / _CLUSTER_FILE).exists():
            around.append(folder.parent)
        for place in around:
            names = sorted(path.parent.name for path in place.glob(f"*/{_CLUSTER_FILE}"))
            if names:
                return [(name, "") for name in names]
    return []


def _state_folder() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")) / "talosmith"


def _lab_folders() -> list[Path]:
    return sorted(path.parent for path in (_state_folder() / "labs").glob("[!.]*/made.json"))


def _labs(given: Given) -> Candidates:
    return [(folder.name, "") for folder in _lab_folders()]


def _lab_call(call: str, given: Given) -> list[dict[str, Any]]:
    """What the chosen lab answers. With -i it is the lab whose name starts with that of the inventory's cluster."""
    import re
    import socket

    folders = {folder.name: folder for folder in _lab_folders()}
    file = _inventory_file(given) if given.get("--inventory") or given.get("--environment") else None
    if file is not None:
        name = re.search(r"^cluster_name:\s*[\"']?([a-z0-9-]+)", file.read_text(encoding="utf-8"), re.MULTILINE)
        wanted = [one for one in folders if name and one.rpartition("-")[0] == name[1][:32]]
    else:
        wanted = [(given.get("--lab") or [os.environ.get("TALOSMITH_LAB") or "lab"])[-1]]
    found: list[dict[str, Any]] = []
    for one in wanted:
        try:
            access = json.loads((folders[one] / "lab.json").read_text(encoding="utf-8"))
            request = {"token": access["token"], "call": call, "with": {}}
            with socket.create_connection((access["host"], access["port"]), timeout=_ANSWER) as connection:
                connection.sendall(json.dumps(request).encode() + b"\n")
                found += json.loads(b"".join(iter(lambda: connection.recv(65536), b"")))["done"]
        except (OSError, ValueError, KeyError):
            continue
    return found


def _machines(given: Given) -> Candidates:
    return [(one["name"], f"{one['power']}, {one['stage']}") for one in _lab_call("machine.list", given)]


def _faults(given: Given) -> Candidates:
    return [(one["id"], one["kind"]) for one in _lab_call("fault.list", given)]


def _runs(given: Given) -> Candidates:
    """Newest first. The id of a run is in its first entry."""
    import sqlite3

    found: list[tuple[float, str, str]] = []
    for path in (_state_folder() / "clusters").glob("*/journal.sqlite"):
        try:
            journal = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=_ANSWER)
            try:
                rows = journal.execute("SELECT run.id, body FROM run JOIN entry ON entry.seq = run.first").fetchall()
            finally:
                journal.close()
            for number, body in rows:
                event = json.loads(body)
                data = event["data"]
                found.append((event["at"], str(data.get("run") or number), f"{data['operation']} {data['cluster']}"))
        except (sqlite3.Error, OSError, ValueError, KeyError, TypeError):
            continue
    return [(run, text) for _, run, text in sorted(found, reverse=True)]
