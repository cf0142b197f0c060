"""Reads a kustomization.yaml: its fields with their types, and which of them only kustomize itself builds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from talosmith.kustomize.errors import ManifestError
from talosmith.kustomize.objects import documents
from talosmith.kustomize.sources import Sources

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")

_TEXT, _FLAG, _NUMBER = "text", "true or false", "a whole number"
_PYTHON_TYPES = {_TEXT: str, _FLAG: bool, _NUMBER: int}
_ANY = "*"  # stands for every key
_TEXTS = [_TEXT]
_MAP = {_ANY: _TEXT}
_SELECTOR = dict.fromkeys(
    ("group", "version", "kind", "name", "namespace", "labelSelector", "annotationSelector"), _TEXT
)
_PATCH = {
    "path": _TEXT,
    "patch": _TEXT,
    "target": _SELECTOR,
    "options": {"allowNameChange": _FLAG, "allowKindChange": _FLAG},
}
_IMAGE = dict.fromkeys(("name", "newName", "newTag", "tagSuffix", "digest"), _TEXT)
_OPTIONS = {"labels": _MAP, "annotations": _MAP, "disableNameSuffixHash": _FLAG, "immutable": _FLAG}
_FIELD = {"path": _TEXT, "group": _TEXT, "version": _TEXT, "kind": _TEXT, "create": _FLAG}
_GENERATOR = {
    **dict.fromkeys(("name", "namespace", "behavior", "env", "type"), _TEXT),
    **dict.fromkeys(("literals", "files", "envs"), _TEXTS),
    "options": _OPTIONS,
}
_LABEL = {
    "pairs": _MAP,
    **dict.fromkeys(("includeSelectors", "includeTemplates", "includeVolumeClaimTemplates"), _FLAG),
    "fields": [_FIELD],
}
_FIELDS: dict[str, Any] = {
    **dict.fromkeys(("apiVersion", "kind", "namespace", "namePrefix", "nameSuffix"), _TEXT),
    **dict.fromkeys(("resources", "bases", "components", "patchesStrategicMerge"), _TEXTS),
    "commonLabels": _MAP,
    "commonAnnotations": _MAP,
    **{key: [_IMAGE] for key in ("images", "imageTags")},
    **{key: [_PATCH] for key in ("patches", "patchesJson6902")},
    **{key: [_GENERATOR] for key in ("configMapGenerator", "secretGenerator")},
    "labels": [_LABEL],
    "replicas": [{"name": _TEXT, "count": _NUMBER}],
    "generatorOptions": _OPTIONS,
}
_IGNORED = ("metadata", "sortOptions")  # the order of objects is decided elsewhere
_ONLY_KUSTOMIZE = (
    "replacements", "vars", "transformers", "generators", "validators", "crds", "openapi", "configurations",
    "buildMetadata",
)  # fmt: skip
_CHARTS = ("helmCharts", "helmGlobals", "helmChartInflationGenerator")
_VERSIONS = {"Kustomization": "kustomize.config.k8s.io/v1beta1", "Component": "kustomize.config.k8s.io/v1alpha1"}


@dataclass(frozen=True)
class Kustomization:
    folder: Path  # without links
    file: Path
    fields: dict[str, Any]
    only_kustomize: tuple[str, ...]  # fields that are not built here
    children: dict[str, Kustomization] = field(default_factory=dict)  # by their entry in resources or components

    @property
    def is_component(self) -> bool:
        return self.fields.get("kind") == "Component"

    def text(self, name: str) -> str:
        return str(self.fields.get(name) or "")

    def many(self, *names: str) -> list[Any]:
        return [one for name in names for one in self.fields.get(name) or ()]

    def map(self, name: str) -> dict[str, Any]:
        return self.fields.get(name) or {}


def read_kustomization(folder: Path, sources: Sources, named_in: Path | None = None) -> Kustomization:
    real = sources.locate(folder, named_in=named_in)
    present = [name for name in NAMES if (real / name).is_file()]
    if len(present) != 1:
        what = f"has {' and '.join(present)}: one of them is enough" if present else "has no kustomization.yaml"
        raise ManifestError(f"{folder} {what}", file=named_in)
    file = folder / present[0]
    text = sources.text(file, below=real)
    found = documents(text, file)
    if len(found) != 1 or not isinstance(found[0], dict):
        raise ManifestError("not a kustomization: one map is expected", file=file)
    only_kustomize = _check(found[0], file, text)
    return Kustomization(real, file, _without_nulls(found[0]), only_kustomize)


def line_of(text: str, key: str) -> int:
    found = re.search(rf"^{re.escape(key)}[ \t]*:", text, re.MULTILINE)
    return text.count("\n", 0, found.start()) + 1 if found else 0


def _check(fields: dict[str, Any], file: Path, text: str) -> tuple[str, ...]:
    """Raise for what is wrong; the fields that are left to kustomize."""
    for key, value in fields.items():
        line = line_of(text, key)
        if key in _CHARTS and value:
            fix = "install the chart as an add-on of its own (`chart:`), or commit what `helm template` renders"
            raise ManifestError(f"{key} is not supported in a kustomization", file=file, line=line, hint=fix)
        if key not in _FIELDS and key not in _IGNORED + _ONLY_KUSTOMIZE + _CHARTS:
            raise ManifestError(f"unknown field `{key}`", file=file, line=line, hint=_similar(key))
        if key in _FIELDS and value is not None:
            for wrong in _problems(value, _FIELDS[key], key):
                raise ManifestError(wrong, file=file, line=line)
    kind = fields.get("kind") or "Kustomization"
    if kind not in _VERSIONS or fields.get("apiVersion", _VERSIONS[kind]) not in (None, "", _VERSIONS[kind]):
        raise ManifestError(
            f"{fields.get('apiVersion')} {kind} is not a kustomization",
            file=file,
            hint="; ".join(f"kind: {one}, apiVersion: {version}" for one, version in _VERSIONS.items()),
        )
    if not any(value for key, value in fields.items() if key not in ("kind", "apiVersion")):
        raise ManifestError("the kustomization is empty", file=file)
    return tuple(key for key in _ONLY_KUSTOMIZE if fields.get(key))


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(one) for key, one in value.items() if one is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


def _similar(key: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(key, [*_FIELDS, *_ONLY_KUSTOMIZE], n=1)
    return f"did you mean `{close[0]}`?" if close else ""


def _problems(value: Any, wanted: Any, where: str) -> Iterator[str]:
    """What is wrong with the types of a value. A field that is null counts as absent."""
    if isinstance(wanted, str):
        good = isinstance(value, _PYTHON_TYPES[wanted]) and (wanted == _FLAG or not isinstance(value, bool))
        if not good:
            yield f"{where} must be {wanted}{': put it in quotes' if wanted == _TEXT else ''}"
    elif isinstance(wanted, list):
        if not isinstance(value, list):
            yield f"{where} must be a list"
            return
        for index, one in enumerate(value):
            yield from _problems(one, wanted[0], f"{where}[{index}]")
    elif not isinstance(value, dict):
        yield f"{where} must be a map"
    else:
        for key, one in value.items():
            known = wanted.get(key, wanted.get(_ANY))
            if known is None:
                yield f"unknown field `{where}.{key}`"
            elif one is not None or _ANY in wanted:
                yield from _problems(one, known, f"{where}.{key}")
