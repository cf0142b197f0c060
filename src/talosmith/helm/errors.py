"""The errors of charts: what is wrong, and in which template and line."""

from __future__ import annotations

from talosmith.errors import Permanent
from talosmith.foreign_text import cleaned


class ChartError(Permanent):
    """A chart cannot be read, or its values are not what it asks for."""


class DigestDiffers(ChartError):
    """An archive is not the one that a lock or an inventory names."""

    def __init__(self, where: str, *, expected: str, found: str, manifest: str = "") -> None:
        super().__init__(f"{where} has the digest {found}, not {expected}")
        self.expected = expected
        self.found = found
        self.manifest = manifest  # digest of the registry's manifest, which `helm push` prints


class VersionMissing(ChartError):
    """A repository has the chart, but not this version of it."""


class TemplateError(ChartError):
    """A template does not parse, or stops with an error."""

    def __init__(self, what: str, *, template: str, line: int, path: tuple[str, ...] = (), hint: str = "") -> None:
        self.what = what = cleaned(what)  # charts quote values in what they complain about
        self.template = template
        self.line = line
        self.path = path  # the places that led there, outermost first
        came_by = f" (used at {' > '.join(path)})" if path else ""
        super().__init__(f"{template}:{line}: {what}{came_by}", hint=hint)

    def used_at(self, template: str, line: int) -> TemplateError:
        """The same error, seen from the place that used the template."""
        return TemplateError(
            self.what,
            template=self.template,
            line=self.line,
            path=(f"{template}:{line}", *self.path),
            hint=self.hint,
        )
