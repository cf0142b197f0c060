"""Applies the patches of a kustomization: strategic merge or JSON, inline or from files, with or without target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from talosmith.kustomize import json_patch
from talosmith.kustomize.errors import ManifestError
from talosmith.kustomize.kustomization import Kustomization
from talosmith.kustomize.merge import MISSING, merge
from talosmith.kustomize.objects import copied, documents, resolve_for_kustomize
from talosmith.kustomize.resources import Resource, Resources, as_map
from talosmith.kustomize.selectors import selects
from talosmith.kustomize.sources import Sources


class Patches:
    """The patches of one kustomization."""

    def __init__(self, kustomization: Kustomization, sources: Sources, resources: Resources) -> None:
        self._kustomization = kustomization
        self._sources = sources
        self._resources = resources

    def apply_first(self) -> None:
        """`patchesStrategicMerge` and `patches`, which come before names and labels."""
        for text in self._kustomization.many("patchesStrategicMerge"):
            inline = "\n" in text.strip() or ": " in text
            for patch in self._parse(*((text, self._kustomization.file) if inline else self._load(text))):
                self._apply(patch, {}, {})
        for settings in self._kustomization.many("patches"):
            text, file = self._text(settings)
            options = settings.get("options") or {}
            found = self._parse(text, file)
            target = settings.get("target")
            if len(found) == 1 and isinstance(found[0], list):
                self._apply_json(found[0], target, file, remember=True)
            elif target and len(found) > 1:
                raise ManifestError("several patches in one entry cannot have a target", file=file)
            else:
                for patch in found:
                    self._apply(patch, target or {}, options, file)

    def apply_last(self) -> None:
        """`patchesJson6902`, which see the final names."""
        for settings in self._kustomization.many("patchesJson6902"):
            text, file = self._text(settings)
            target = settings.get("target")
            if not target or not target.get("name"):
                raise ManifestError("patchesJson6902: target.name is required", file=file)
            for operations in self._parse(text, file):
                self._apply_json(operations, target, file, remember=False)

    def _text(self, settings: Mapping[str, Any]) -> tuple[str, Path]:
        path, inline = settings.get("path"), (settings.get("patch") or "").strip()
        if bool(path) == bool(inline):
            raise ManifestError("a patch needs either `path` or `patch`", file=self._kustomization.file)
        return self._load(path) if path else (inline, self._kustomization.file)

    def _load(self, name: str) -> tuple[str, Path]:
        folder = self._kustomization.folder
        return self._sources.text(folder / name, named_in=self._kustomization.file, below=folder), folder / name

    def _parse(self, text: str, file: Path) -> list[Any]:
        """Maps are strategic merge patches; lists are JSON patches, whose words kustomize reads as kubectl does."""
        found = documents(text, file, resolve_for_kustomize)
        return documents(text, file) if any(isinstance(one, list) for one in found) else found

    def _apply_json(self, operations: Any, target: Mapping[str, str] | None, file: Path, *, remember: bool) -> None:
        if not target:
            raise ManifestError("a JSON patch needs a target", file=file)
        if not isinstance(operations, list):
            raise ManifestError("not a JSON patch: a list of operations is expected", file=file)
        for one in self._resources.where(lambda one: selects(target, one)):
            if remember:
                one.remember()
            with _naming(one, file):
                json_patch.apply(one.content, operations)
                _check_object(one)
        self._resources.check_ids()

    def _apply(
        self, patch: Any, target: Mapping[str, str], options: Mapping[str, bool], file: Path | None = None
    ) -> None:
        file = file or self._kustomization.file
        metadata = patch.get("metadata") if isinstance(patch, dict) else None
        if not isinstance(metadata, dict) or not patch.get("kind") or not isinstance(metadata.get("name"), str):
            raise ManifestError("a patch needs kind and metadata.name", file=file)
        if target:
            chosen = self._resources.where(lambda one: selects(target, one))
        else:
            wanted = Resource(patch).id
            chosen = self._resources.known_as(wanted)
            if len(chosen) != 1:
                what = "no object matches" if not chosen else f"{len(chosen)} objects match"
                raise ManifestError(
                    f"{what} the patch for {patch.get('apiVersion', '')} {wanted}",
                    file=file,
                    hint="apiVersion, kind, name and namespace must be those of the object, or set a target",
                )
        for one in chosen:
            with _naming(one, file):
                self._merge(one, copied(patch), options)
        self._resources.check_ids()

    def _merge(self, one: Resource, patch: dict[str, Any], options: Mapping[str, bool]) -> None:
        kept = {"kind": one.kind, "apiVersion": one.content.get("apiVersion")}
        name, namespace = one.name, one.metadata.get("namespace")
        if options.get("allowNameChange") or options.get("allowKindChange"):
            one.remember()
        if "apiVersion" in patch or kept["apiVersion"]:
            patch["apiVersion"] = kept["apiVersion"]
        merged = merge(one.content, patch)
        if merged is MISSING or not merged:
            self._resources.remove(one)
            return
        one.content = merged
        if not options.get("allowKindChange"):
            merged["kind"] = kept["kind"]
        metadata = merged.setdefault("metadata", {})
        if not options.get("allowNameChange"):
            metadata["name"] = name
        metadata.pop("namespace", None)
        if namespace is not None:
            metadata["namespace"] = namespace


def _check_object(one: Resource) -> None:
    metadata = one.content.get("metadata")
    parts = [one.content.get("apiVersion"), one.content.get("kind"), as_map(metadata).get("name")]
    if not all(part and isinstance(part, str) for part in parts):
        raise ManifestError("no apiVersion, kind or metadata.name is left")


@contextmanager
def _naming(one: Resource, file: Path) -> Iterator[None]:
    """Errors name the object that is patched, and the file of the patch."""
    name = str(one.id)
    try:
        yield
    except ManifestError as wrong:
        raise ManifestError(f"{name}: {wrong.what}", file=wrong.file or file, hint=wrong.hint) from None
