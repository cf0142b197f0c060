"""One chart, from the cache, its registry, its repository or a path; verified against the lock and the inventory."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from talosmith.charts.content import ChartContent
from talosmith.charts.lock import Locked
from talosmith.charts.mirrors import mirrored, mirrored_address
from talosmith.helm import archive, chart, folder, logins, registry, repository
from talosmith.helm.download import Client
from talosmith.helm.errors import ChartError, DigestDiffers
from talosmith.helm.registry import Pulled
from talosmith.helm.store import Store, digest_of
from talosmith.helm.versions import is_exact
from talosmith.model.cluster import ChartPin


class Offline(ChartError):
    """A chart is not in the cache, and the network is not to be used."""


@dataclass
class Fetcher:
    """What one run of `resolve` shares between its threads."""

    store: Store
    mirrors: Mapping[str, str]
    given: Client | None = None
    offline: bool = False
    indexes: repository.Indexes = field(default_factory=repository.Indexes)
    _logins: threading.Lock = field(default_factory=threading.Lock)

    def fetch(self, pin: ChartPin, locked: Locked | None) -> ChartContent:
        if pin.is_local:
            return _local(pin)
        if locked is not None and pin.digest and pin.digest != locked.digest:
            raise DigestDiffers("charts.lock", expected=pin.digest, found=locked.digest)
        kept = self._kept(pin, locked)
        if kept is not None:
            return kept
        if self.offline:
            raise Offline(f"{_title(pin)} is not in the cache ({self.store.folder})")
        expected = locked.digest if locked else pin.digest
        pulled = self._pull(pin, locked.version if locked else pin.version, expected)
        return self._checked(pin, pulled)

    def _kept(self, pin: ChartPin, locked: Locked | None) -> ChartContent | None:
        """From the cache; without a lock only what the inventory pins by version and digest."""
        if locked is not None:
            content = self.store.get(locked.digest)
            return None if content is None else ChartContent(pin, locked.version, locked.digest, content)
        content = self.store.get(pin.digest) if pin.digest and is_exact(pin.version) else None
        return None if content is None else self._checked(pin, Pulled(pin.version, pin.digest, content))

    def _pull(self, pin: ChartPin, version: str, expected: str) -> Pulled:
        source, name = mirrored(pin.source, pin.name, self.mirrors)
        if source.startswith("oci://"):
            return registry.pull(source, version, self._client, self.store, expected=expected)
        return repository.pull(
            source,
            name,
            version,
            self._client,
            self.store,
            expected=expected,
            indexes=self.indexes,
            mirrored=lambda url: mirrored_address(url, self.mirrors) if not url.startswith(source) else url,
        )

    @property
    def _client(self) -> Client:
        with self._logins:
            return self._with_logins

    @cached_property
    def _with_logins(self) -> Client:
        """Logins are read once the network is needed, not before."""
        return self.given or Client(credentials=logins.read(logins.default_files()))

    def _checked(self, pin: ChartPin, pulled: Pulled) -> ChartContent:
        """Unpack it once, so that a chart that cannot be used is known before anything else is done."""
        content = ChartContent(pin, pulled.version, pulled.digest, pulled.content)
        version = chart.parse_metadata(content.files())["Version"]
        if version.removeprefix("v") != pulled.version.removeprefix("v"):
            raise ChartError(f"{_title(pin)} holds version {version} of the chart, not {pulled.version}")
        return content


def _local(pin: ChartPin) -> ChartContent:
    path = Path(pin.source)
    if path.is_dir():
        files = folder.read(path)
        version = chart.parse_metadata(files)["Version"]
        content = ChartContent.of_folder(pin, version, f"sha256:{chart.digest(files)}", files)
    elif path.is_file():
        if path.stat().st_size > archive.MAX_ARCHIVE:
            raise ChartError(f"{path} has {path.stat().st_size} bytes; a chart has {archive.MAX_ARCHIVE} at most")
        data = path.read_bytes()
        files = archive.unpack(data, where=str(path))
        content = ChartContent(pin, chart.parse_metadata(files)["Version"], digest_of(data), data, files)
    else:
        raise ChartError(f"there is no chart at {path}")
    if pin.digest and pin.digest != content.digest:
        raise DigestDiffers(str(path), expected=pin.digest, found=content.digest)
    return content


def _title(pin: ChartPin) -> str:
    return " ".join(part for part in (pin.source, pin.name, pin.version) if part)
