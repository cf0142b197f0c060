"""Where the real programs are: in folders that were named, in `KUBEBUILDER_ASSETS`, or on PATH."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from talosmith.errors import UsageError

ASSETS = "KUBEBUILDER_ASSETS"
_NEEDED = ("etcd", "kube-apiserver", "kube-controller-manager")


@dataclass(frozen=True, slots=True)
class Binaries:
    etcd: Path
    apiserver: Path
    controller_manager: Path
    scheduler: Path | None = None  # without it a simple one of the lab's own binds pods


def find_binaries(folders: str = "", environment: Mapping[str, str] = os.environ) -> Binaries:
    """`folders` is a list like PATH, and comes first. Raises `UsageError` if something is missing."""
    path = os.pathsep.join(filter(None, (folders, environment.get(ASSETS, ""), environment.get("PATH", os.defpath))))
    found = {name: shutil.which(name, path=path) for name in (*_NEEDED, "kube-scheduler")}
    missing = [name for name in _NEEDED if found[name] is None]
    if missing:
        raise UsageError(
            f"a lab with a real Kubernetes needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} "
            f"neither on PATH nor in {ASSETS}",
            hint=f"put {'it' if len(missing) == 1 else 'them'} there, or name the folder "
            "(`talosmith lab start --kubernetes-binaries FOLDER`), or use the lab's own (`kubernetes: simulated`)",
        )
    return Binaries(*_paths(found))


def _paths(found: Mapping[str, str | None]) -> Iterator[Path]:
    for path in found.values():
        if path is not None:
            yield Path(path).absolute()
