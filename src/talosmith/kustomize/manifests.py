"""Objects of a file, of a folder of manifests, or of a kustomization."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from talosmith.files.regular import is_folder
from talosmith.kustomize import binary
from talosmith.kustomize.build import build
from talosmith.kustomize.errors import KustomizeRequired, ManifestError
from talosmith.kustomize.kustomization import NAMES
from talosmith.kustomize.objects import Object, objects
from talosmith.kustomize.resources import Resource, Resources
from talosmith.kustomize.sources import Sources

_ENDINGS = {".yaml", ".yml", ".json"}


@dataclass(frozen=True)
class Manifests:
    """What a path holds."""

    objects: list[Object] = field(repr=False)  # may hold Secrets
    digest: str  # of all files read
    note: str = ""  # that kustomize built it, and why


def load_manifests(path: Path, *, root: Path | None = None) -> Manifests:
    """The objects of a path. `root` is the inventory's folder, the boundary where there is no Git work tree."""
    sources = Sources(path, root)
    if is_folder(path) and any((path / name).exists() for name in NAMES):
        return _of_kustomization(path, sources)
    found = Resources()
    for file in _files(path) if is_folder(path) else [path]:
        _add(found, sources.text(file), file)
    return Manifests([one.content for one in found], sources.digest())


def _of_kustomization(folder: Path, sources: Sources) -> Manifests:
    try:
        return Manifests(build(folder, sources), sources.digest())
    except KustomizeRequired as reason:
        command = binary.find()
        if command is None:
            raise
        output = binary.build(command, folder)
        found = Resources()
        _add(found, output, folder)
        digest = sources.digest(output.encode())  # it may have read files that we do not know of
        return Manifests([one.content for one in found], digest, f"built by {command[0]}: {reason}")


def _files(folder: Path) -> list[Path]:
    """All manifests of a folder and those below it, sorted; hidden ones are left out."""
    found = []
    for path in sorted(folder.rglob("*")):
        if any(part.startswith(".") for part in path.relative_to(folder).parts) or path.is_dir():
            continue
        if path.name in NAMES:
            raise ManifestError(
                "a kustomization below a folder of manifests",
                file=path,
                hint=f"add a kustomization.yaml to {folder} that lists it, or name its folder in `manifests`",
            )
        if path.suffix in _ENDINGS:
            found.append(path)
    if not found:
        raise ManifestError("no manifests (*.yaml, *.yml, *.json)", file=folder)
    return found


def _add(found: Resources, text: str, file: Path) -> None:
    for content in objects(text, file):
        try:
            found.append(Resource(content))
        except ManifestError as wrong:
            raise ManifestError(wrong.what, file=file, hint=wrong.hint) from None
