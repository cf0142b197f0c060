"""What a chart is: its description, its values, its templates, its other files and the charts inside it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from talosmith.helm import archive, yaml_in
from talosmith.helm.errors import ChartError

_TEXT_FIELDS = {
    "name": "Name", "home": "Home", "version": "Version", "description": "Description", "icon": "Icon",
    "apiVersion": "APIVersion", "condition": "Condition", "tags": "Tags", "appVersion": "AppVersion",
    "kubeVersion": "KubeVersion", "type": "Type",
}  # fmt: skip
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
    digest: str = field(default="", compare=False)

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
    return _metadata(_described(files))


def _described(files: Mapping[str, bytes]) -> dict[str, Any]:
    if "Chart.yaml" not in files:
        raise ChartError("Chart.yaml file is missing")
    return _table(files["Chart.yaml"], "Chart.yaml")


def parse(files: Mapping[str, bytes]) -> Chart:
    """The chart in these files."""
    described = _described(files)
    metadata = _metadata(described)
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
    chart.adopt([parse(part) for part in map(_inner, sorted(inner), map(inner.get, sorted(inner))) if part])
    chart.digest = digest(files)
    return chart


def _inner(name: str, files: dict[str, bytes] | None) -> dict[str, bytes]:
    """The files of one chart in the charts/ folder; empty where there is none."""
    if not files or name[0] in "_.":
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


def _metadata(described: Mapping[str, Any]) -> dict[str, Any]:
    metadata: dict[str, Any] = {title: _text(described.get(name)) for name, title in _TEXT_FIELDS.items()}
    if not metadata["APIVersion"]:
        metadata["APIVersion"] = "v1"
    for name in ("Name", "Version"):
        if not metadata[name]:
            raise ChartError(f"Chart.yaml has no {name.lower()}")
    metadata["Deprecated"] = described.get("deprecated") is True
    metadata["Sources"] = list(described.get("sources") or [])
    metadata["Keywords"] = list(described.get("keywords") or [])
    metadata["Maintainers"] = [
        {
            title: _text((one or {}).get(name))
            for name, title in (("name", "Name"), ("email", "Email"), ("url", "URL"))
        }
        for one in described.get("maintainers") or []
    ]
    metadata["Annotations"] = {str(key): _text(value) for key, value in (described.get("annotations") or {}).items()}
    return metadata


def _dependency(described: Mapping[str, Any]) -> Dependency:
    return Dependency(
        name=_text(described.get("name")),
        version=_text(described.get("version")),
        repository=_text(described.get("repository")),
        condition=_text(described.get("condition")),
        tags=list(described.get("tags") or []),
        import_values=list(described.get("import-values") or []),
        alias=_text(described.get("alias")),
    )


def show_dependencies(chart: Chart) -> None:
    chart.metadata["Dependencies"] = [
        {
            "Name": one.name, "Version": one.version, "Repository": one.repository, "Condition": one.condition,
            "Tags": one.tags, "Enabled": one.enabled, "ImportValues": one.import_values, "Alias": one.alias,
        }
        for one in chart.declared
    ]  # fmt: skip


def _text(value: Any) -> str:
    """Helm reads a number where text should stand as that text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)
