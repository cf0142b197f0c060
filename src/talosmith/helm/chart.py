"""What a chart is: its description, its values, its templates, its other files and the charts inside it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from talosmith.helm import archive, yaml_in
from talosmith.helm.errors import ChartError
from talosmith.helm.metadata import metadata_of, text_of

_DEEPEST = 10  # of charts inside charts
_MANIFESTS = (".yaml", ".yml", ".json")


@dataclass
class Dependency:
    """One chart that another one names in its Chart.yaml."""

    name: str
    version: str
    repository: str
    condition: str
    tags: list[str]
    import_values: list[Any]
    alias: str
    enabled: bool = True


@dataclass
class Chart:
    """Read once, then worked on: subcharts are switched off, renamed and their values carried to their parents."""

    metadata: dict[str, Any]  # as templates see it in .Chart
    values: dict[str, Any]
    schema: bytes | None
    templates: dict[str, bytes]
    files: dict[str, bytes]
    declared: list[Dependency]
    subcharts: list[Chart]
    parent: Chart | None = None

    @property
    def name(self) -> str:
        return str(self.metadata["Name"])

    @property
    def version(self) -> str:
        return str(self.metadata["Version"])

    @property
    def path(self) -> str:
        return f"{self.parent.path}/charts/{self.name}" if self.parent else self.name

    @property
    def is_library(self) -> bool:
        return str(self.metadata["Type"]).lower() == "library"

    def adopt(self, subcharts: list[Chart]) -> None:
        self.subcharts = subcharts
        for subchart in subcharts:
            subchart.parent = self

    def crds(self) -> list[tuple[str, bytes]]:
        """The files of the crds/ folders, the chart's own first."""
        own = [
            (f"{self.path}/{name}", content)
            for name, content in self.files.items()
            if name.startswith("crds/") and name.lower().endswith(_MANIFESTS)
        ]
        return own + [crd for subchart in self.subcharts for crd in subchart.crds()]


def digest(files: Mapping[str, bytes]) -> str:
    """One name for all the content."""
    total = hashlib.sha256()
    for name in sorted(files):
        total.update(f"{len(name.encode())}:{name}:{len(files[name])}:".encode())
        total.update(files[name])
    return total.hexdigest()


def parse_metadata(files: Mapping[str, bytes]) -> dict[str, Any]:
    """What Chart.yaml says, as templates see it."""
    return metadata_of(_described(files))


def _described(files: Mapping[str, bytes]) -> dict[str, Any]:
    if "Chart.yaml" not in files:
        raise ChartError("Chart.yaml file is missing")
    return _table(files["Chart.yaml"], "Chart.yaml")


def parse(files: Mapping[str, bytes]) -> Chart:
    """The chart in these files."""
    return _parse(files, 0, _Unpacked())


@dataclass
class _Unpacked:
    """What the archives inside a chart were unpacked to, all together: each may hold others."""

    size: int = 0

    def add(self, files: dict[str, bytes]) -> dict[str, bytes]:
        self.size += sum(map(len, files.values()))
        if self.size > archive.MAX_TOTAL:
            raise ChartError(
                f"the charts inside the chart grow beyond {archive.MAX_TOTAL} bytes when they are unpacked"
            )
        return files


def _parse(files: Mapping[str, bytes], depth: int, unpacked: _Unpacked) -> Chart:
    if depth > _DEEPEST:
        raise ChartError(f"charts are nested deeper than {_DEEPEST} levels")
    described = _described(files)
    metadata = metadata_of(described)
    dependencies = described.get("dependencies")
    chart = Chart(metadata, {}, files.get("values.schema.json"), {}, {}, [], [])
    inner: dict[str, dict[str, bytes]] = {}
    for name, content in files.items():
        if name.startswith("templates/"):
            chart.templates[name] = content
        elif name.startswith("charts/"):
            folder, _, _ = name.removeprefix("charts/").partition("/")
            inner.setdefault(folder, {})[name.removeprefix("charts/")] = content
        elif name == "requirements.yaml":
            dependencies = _table(content, name).get("dependencies")
            chart.files[name] = content
        elif name == "values.yaml":
            chart.values = _values(content)
        elif name not in ("Chart.yaml", "Chart.lock", "values.schema.json", "requirements.lock"):
            chart.files[name] = content
    chart.declared = [_dependency(one) for one in dependencies or [] if one]
    show_dependencies(chart)
    parts = (unpacked.add(_inner(name, inner[name])) for name in sorted(inner))
    chart.adopt([_parse(part, depth + 1, unpacked) for part in parts if part])
    return chart


def _inner(name: str, files: dict[str, bytes]) -> dict[str, bytes]:
    """The files of one chart in the charts/ folder; empty where there is none."""
    if name[0] in "_.":
        return {}
    if name.endswith(".tgz"):
        return archive.unpack(files[name], where=f"charts/{name}")
    if name.endswith(".prov"):
        return {}
    return {path.partition("/")[2]: content for path, content in files.items() if "/" in path}


def _table(content: bytes, name: str) -> dict[str, Any]:
    try:
        value = yaml_in.load(content.decode(), whole_numbers=True)
    except (ChartError, UnicodeDecodeError) as problem:
        raise ChartError(f"cannot load {name}: {problem}") from None
    if not isinstance(value, dict):
        raise ChartError(f"cannot load {name}: it is no table")
    return value


def _values(content: bytes) -> dict[str, Any]:
    """Several documents are laid over each other."""
    values: dict[str, Any] = {}
    try:
        for document in yaml_in.load_all(content.decode()):
            if document is None:
                continue
            if not isinstance(document, dict):
                raise ChartError("it is no table")
            values = overlaid(values, document)
    except (ChartError, UnicodeDecodeError) as problem:
        raise ChartError(f"cannot load values.yaml: {problem}") from None
    return values


def overlaid(base: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Tables are merged, anything else of `upper` counts; nothing given is changed."""
    merged = dict(base)
    for key, value in upper.items():
        present = merged.get(key)
        merged[key] = overlaid(present, value) if isinstance(present, dict) and isinstance(value, dict) else value
    return merged


def _dependency(described: Mapping[str, Any]) -> Dependency:
    return Dependency(
        name=text_of(described.get("name")),
        version=text_of(described.get("version")),
        repository=text_of(described.get("repository")),
        condition=text_of(described.get("condition")),
        tags=list(described.get("tags") or []),
        import_values=list(described.get("import-values") or []),
        alias=text_of(described.get("alias")),
    )


def show_dependencies(chart: Chart) -> None:
    chart.metadata["Dependencies"] = [
        {
            "Name": one.name, "Version": one.version, "Repository": one.repository, "Condition": one.condition,
            "Tags": one.tags, "Enabled": one.enabled, "ImportValues": one.import_values, "Alias": one.alias,
        }
        for one in chart.declared
    ]  # fmt: skip
