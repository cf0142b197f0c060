"""Builds a kustomization: resources, generated objects, components, then what it does to all of them.

The order is kustomize's, for it decides which name a patch has to use. Names of references are updated once, at the
end, when all names are known.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from talosmith.files.regular import is_folder
from talosmith.kustomize import fields
from talosmith.kustomize.errors import KustomizeRequired, ManifestError
from talosmith.kustomize.fields import FieldSpec
from talosmith.kustomize.generators import add_hashes, generate
from talosmith.kustomize.kustomization import Kustomization, line_of, read_kustomization
from talosmith.kustomize.objects import Object, objects, resolve_for_kustomize
from talosmith.kustomize.patches import Patches
from talosmith.kustomize.references import update_references
from talosmith.kustomize.resources import Resource, Resources
from talosmith.kustomize.sources import Sources
from talosmith.kustomize.transform import (
    add_to_names,
    is_local_config,
    set_entries,
    set_image,
    set_namespace,
    set_replicas,
)

_MAX_KUSTOMIZATIONS = 500
_REMOTE = re.compile(r"[a-z+]+://|git::|[^/]+@[^/]+:|(www\.)?github\.com[/:]|[^?]*\?(ref|version|timeout)=", re.I)


def build(folder: Path, sources: Sources) -> list[Object]:
    """The objects of a kustomization; `KustomizeRequired` if only kustomize can build it."""
    tree = _Reader(sources).read(folder)
    with _naming(tree):
        resources = _accumulate(tree, sources, Resources())
        add_hashes(resources)
        update_references(resources)
    for one in resources:
        if not one.metadata.get("annotations", True):
            del one.metadata["annotations"]  # as kustomize does with empty ones
    return [one.content for one in resources if not is_local_config(one)]


@contextmanager
def _naming(kustomization: Kustomization) -> Iterator[None]:
    """Errors name the kustomization, where they name no file."""
    try:
        yield
    except ManifestError as wrong:
        raise wrong if wrong.file else ManifestError(wrong.what, file=kustomization.file, hint=wrong.hint) from None


class _Reader:
    """Reads all kustomizations below one, before anything is built: a URL anywhere refuses the whole."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._count = 0
        self._required: list[tuple[Kustomization, str]] = []

    def read(self, folder: Path) -> Kustomization:
        tree = self._read(folder, None, ())
        for kustomization, name in self._required[:1]:
            raise KustomizeRequired(
                f"{name} needs kustomize itself",
                file=kustomization.file,
                line=line_of(self._sources.text(kustomization.file), name),
                hint="install `kustomize` or `kubectl` (on PATH): the kustomization is then built by it",
            )
        return tree

    def _read(self, folder: Path, named_in: Path | None, above: tuple[Path, ...]) -> Kustomization:
        self._count += 1
        if self._count > _MAX_KUSTOMIZATIONS:
            raise ManifestError(f"more than {_MAX_KUSTOMIZATIONS} kustomizations", file=named_in)
        one = read_kustomization(folder, self._sources, named_in)
        if any(visited.is_relative_to(one.folder) for visited in above):
            raise ManifestError(
                f"{folder} is or contains a kustomization that uses it (cycle detected)", file=named_in
            )
        self._required += [(one, name) for name in one.only_kustomize]
        for field in ("resources", "bases", "components"):
            for entry in one.many(field):
                path = one.folder / entry
                if _REMOTE.match(entry) and not os.path.exists(path):  # noqa: PTH110 (no error for any text)
                    raise ManifestError(
                        f"{field}: {entry} is a URL, and nothing is downloaded",
                        file=one.file,
                        line=line_of(self._sources.text(one.file), field),
                        hint="vendor it: download it into a folder beside the kustomization and name that",
                    )
                if is_folder(path) or field == "components":
                    child = self._read(path, one.file, (*above, one.folder))
                    self._check_kind(child, one, field)
                    one.children[entry] = child
        return one

    def _check_kind(self, child: Kustomization, parent: Kustomization, field: str) -> None:
        if child.is_component != (field == "components"):
            fix = "name it in `components`" if child.is_component else "name it in `resources`"
            what = "is a Component" if child.is_component else "is not a Component"
            raise ManifestError(f"{field}: {child.folder} {what}", file=parent.file, hint=fix)


def _accumulate(one: Kustomization, sources: Sources, resources: Resources) -> Resources:
    """Add the objects of the kustomization to those that are there; a component changes these too."""
    with _naming(one):
        for entry in one.many("resources", "bases"):
            if entry in one.children:
                resources.extend(_accumulate(one.children[entry], sources, Resources()))
            else:
                path = one.folder / entry
                text = sources.text(path, named_in=one.file, below=one.folder)
                resources.extend(Resource(content) for content in objects(text, path, resolve_for_kustomize))
        generate(one, sources, resources)
        for entry in one.many("components"):
            _accumulate(one.children[entry], sources, resources)
        _transform(one, sources, resources)
    return resources


def _transform(one: Kustomization, sources: Sources, resources: Resources) -> None:
    patches = Patches(one, sources, resources)
    patches.apply_first()
    if namespace := one.text("namespace"):
        set_namespace(resources, namespace)
    add_to_names(resources, one.text("namePrefix"), one.text("nameSuffix"))
    for label in one.many("labels"):
        specs = [FieldSpec(**{"path": "metadata/labels", **spec}) for spec in label.get("fields") or ()]
        if label.get("includeSelectors"):
            specs += fields.SELECTOR_LABELS
        else:
            specs += fields.OWN_LABELS
            specs += fields.TEMPLATE_LABELS if label.get("includeTemplates") else ()
            specs += fields.CLAIM_LABELS if label.get("includeVolumeClaimTemplates") else ()
        set_entries(resources, label.get("pairs") or {}, specs)
    set_entries(resources, one.map("commonLabels"), fields.SELECTOR_LABELS)
    set_entries(resources, one.map("commonAnnotations"), fields.ANNOTATIONS)
    patches.apply_last()
    for replicas in one.many("replicas"):
        set_replicas(resources, replicas.get("name") or "", replicas.get("count") or 0)
    for image in one.many("images", "imageTags"):
        set_image(resources, image)
    resources.check_ids()
