"""A chart that is there, or why it cannot be had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from talosmith.helm import archive
from talosmith.model.cluster import ChartPin


@dataclass(frozen=True, slots=True)
class ChartContent:
    """A verified chart. Its archive is unpacked when its files are first asked for."""

    pin: ChartPin
    version: str  # as resolved
    digest: str  # sha256:… of the archive; of a local folder, of its files
    archive: bytes = field(default=b"", repr=False, compare=False)  # empty for a local folder
    _files: dict[str, bytes] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of_folder(cls, pin: ChartPin, version: str, digest: str, files: Mapping[str, bytes]) -> ChartContent:
        return cls(pin, version, digest, _files=dict(files))

    def files(self) -> Mapping[str, bytes]:
        """The files of the chart, by their path inside it."""
        if not self._files:
            where = f"{self.pin.source} {self.pin.name} {self.version}".replace("  ", " ")
            self._files.update(archive.unpack(self.archive, where=where))
        return self._files


@dataclass(frozen=True, slots=True)
class ChartProblem:
    """Why the chart of an add-on cannot be had."""

    addon: str
    what: str
    fix: str
