"""Where the engine keeps its files: a private folder for each cluster in the user's state folder."""

from __future__ import annotations

import os
import re
from pathlib import Path

from talosmith import files
from talosmith.errors import Permanent

_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")


def clusters_folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "talosmith" / "clusters"


def cluster_folder(cluster: str, owner_id: str) -> Path:
    """The state folder of one cluster, which need not exist. Clusters of the same name differ in their ids."""
    for part in (cluster, owner_id):
        if not _PART.match(part):
            raise Permanent(f"{part!r} cannot be part of a folder name")
    return clusters_folder() / f"{cluster}-{owner_id}"


def make_folder(folder: Path) -> None:
    try:
        files.make_private_folder(folder)
    except OSError as problem:
        raise Permanent(
            f"cannot create the folder {folder}: {problem.strerror or problem}",
            hint="check the owner of its parent folder and the free space, or set XDG_STATE_HOME to another folder",
        ) from problem
