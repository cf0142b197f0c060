"""Where a chart can come from: a folder, an archive, an HTTP repository, an OCI registry."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from talosmith.helm import archive, folder, registry, repository
from talosmith.helm.download import Client
from talosmith.helm.errors import ChartError
from talosmith.helm.store import Store


@dataclass(frozen=True)
class LocalChart:
    """A folder that holds a Chart.yaml, or a .tgz archive."""

    path: Path


@dataclass(frozen=True)
class RepositoryChart:
    """A chart of an HTTP repository. The version may be a range; empty means the newest release."""

    url: str
    name: str
    version: str = ""


@dataclass(frozen=True)
class RegistryChart:
    """A chart of an OCI registry, `oci://host/path`; a digest behind it pins the content for good."""

    reference: str
    version: str = ""


ChartSource = LocalChart | RepositoryChart | RegistryChart


def fetch(source: ChartSource, client: Client, store: Store) -> dict[str, bytes]:
    """The files of the chart, by their path inside it."""
    match source:
        case LocalChart(path=path):
            if path.is_dir():
                return folder.read(path)
            if not path.is_file():
                raise ChartError(f"there is no chart at {path}")
            return archive.unpack(path.read_bytes(), where=str(path))
        case RepositoryChart(url=url, name=name, version=version):
            return archive.unpack(repository.fetch(url, name, version, client, store), where=f"{url} {name}")
        case RegistryChart(reference=reference, version=version):
            return archive.unpack(registry.fetch(reference, version, client, store), where=reference)
