"""One chart, from the cache, its registry, its repository or a path; verified against the lock and the inventory."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from talosmith.charts.content import ChartContent
from talosmith.charts.lock import Locked
from talosmith.helm import archive, chart, folder
from talosmith.helm.errors import ChartError, DigestDiffers
from talosmith.helm.store import Store, digest_of
from talosmith.helm.versions import is_exact
from talosmith.model.cluster import ChartPin

if TYPE_CHECKING:
    from talosmith.charts.pulling import Puller
    from talosmith.helm.download import Client


class Offline(ChartError):
    """A chart is not in the cache, and the network is not to be used."""


@dataclass
class Fetcher:
    """What one run of `resolve` shares between its threads."""

    store: Store
    mirrors: Mapping[str, str]
    given: Client | None = None
    offline: bool = False
    _puller: Puller | None = None
    _one_puller: threading.Lock = field(default_factory=threading.Lock)

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
        pulled = self._network.pull(pin, locked.version if locked else pin.version, expected)
        return _checked(pin, pulled.version, pulled.digest, pulled.content)

    def _kept(self, pin: ChartPin, locked: Locked | None) -> ChartContent | None:
        """From the cache; without a lock only what the inventory pins by version and digest."""
        if locked is not None:
            content = self.store.get(locked.digest)
            return None if content is None else ChartContent(pin, locked.version, locked.digest, content)
        content = self.store.get(pin.digest) if pin.digest and is_exact(pin.version) else None
        return None if content is None else _checked(pin, pin.version, pin.digest, content)

    @property
    def _network(self) -> Puller:
        """Imported, and logins read, once the network is needed: a plan with a full cache does not wait for them."""
        with self._one_puller:
            if self._puller is None:
                from talosmith.charts.pulling import Puller

                self._puller = Puller(self.store, self.mirrors, self.given)
            return self._puller


def _checked(pin: ChartPin, found: str, digest: str, archived: bytes) -> ChartContent:
    """Unpack it once, so that a chart that cannot be used is known before anything else is done."""
    content = ChartContent(pin, found, digest, archived)
    version = chart.parse_metadata(content.files())["Version"]
    if version.removeprefix("v") != found.removeprefix("v"):
        raise ChartError(f"{_title(pin)} holds version {version} of the chart, not {found}")
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
