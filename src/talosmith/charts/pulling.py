"""Charts from registries and repositories, or from their mirrors. Imported once a chart is in no cache."""

from __future__ import annotations

from collections.abc import Mapping

from talosmith.charts.mirrors import mirrored, mirrored_address
from talosmith.helm import logins, registry, repository
from talosmith.helm.download import Client
from talosmith.helm.registry import Pulled
from talosmith.helm.store import Store
from talosmith.model.cluster import ChartPin


class Puller:
    """What one run of `resolve` shares between its threads: logins, and the indexes of repositories."""

    def __init__(self, store: Store, mirrors: Mapping[str, str], client: Client | None) -> None:
        self._store = store
        self._mirrors = mirrors
        self._client = client or Client(credentials=logins.read(logins.default_files()))
        self._indexes = repository.Indexes()

    def pull(self, pin: ChartPin, version: str, expected: str) -> Pulled:
        source, name = mirrored(pin.source, pin.name, self._mirrors)
        if source.startswith("oci://"):
            return registry.pull(source, version, self._client, self._store, expected=expected)
        return repository.pull(
            source,
            name,
            version,
            self._client,
            self._store,
            expected=expected,
            indexes=self._indexes,
            mirrored=lambda url: mirrored_address(url, self._mirrors) if not url.startswith(source) else url,
        )
