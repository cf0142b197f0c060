"""Objects of a file, of a folder of manifests, or of a kustomization."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from talosmith.files.regular import is_folder
from talosmith.kustomize.errors import ManifestError
from talosmith.kustomize.objects import Object, check_count, objects
from talosmith.kustomize.sources import Sources

KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_ENDINGS = {".yaml", ".yml", ".json"}


@dataclass(frozen=True)
class Manifests:
    """What a path holds."""

    objects: list[Object] = field(repr=False)  # may hold Secrets
    digest: str  # of all files read
    note: str = ""  # that kustomize built it


def load_manifests(path: Path, *, root: Path | None = None) -> Manifests:
    """The objects of a path. `root` is the inventory's folder, the boundary where there is no Git work tree."""
    sources = Sources(path, root)
    if not is_folder(path):
        found = objects(sources.text(path), path)
    elif any((path / name).exists() for name in KUSTOMIZATIONS):
        raise ManifestError("kustomizations are to come", file=path)
    else:
        found = _of_folder(path, sources)
    check_count(found)
    return Manifests(found, sources.digest())


def _of_folder(folder: Path, sources: Sources) -> list[Object]:
    found: list[Object] = []
    names = sorted(
        path
        for path in folder.rglob("*")
        if path.suffix in _ENDINGS
        and not path.is_dir()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
    for path in names:
        found += objects(sources.text(path), path)
        check_count(found)
    if not found:
        raise ManifestError("no Kubernetes objects (*.yaml, *.yml, *.json)", file=folder)
    return found
