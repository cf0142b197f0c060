"""The errors of charts: what is wrong, and in which template and line."""

from __future__ import annotations

from talosmith.errors import Permanent


class ChartError(Permanent):
    """A chart cannot be read, or its values are not what it asks for."""


class TemplateError(ChartError):
    """A template does not parse, or stops with an error."""

    def __init__(self, what: str, *, template: str, line: int, path: tuple[str, ...] = (), hint: str = "") -> None:
        self.what = what
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
