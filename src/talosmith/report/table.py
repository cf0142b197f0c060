"""Columns of text, as wide as they need to be. Empty columns are left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from talosmith.foreign_text import escaped_line
from talosmith.report.style import Style


def table(header: Sequence[str], rows: Sequence[Sequence[str]], style: Style) -> Iterator[str]:
    rows = [[escaped_line(cell) for cell in row] for row in rows]
    shown = [index for index in range(len(header)) if any(row[index] for row in rows)]
    widths = {index: max(len(header[index]), *(len(row[index]) for row in rows)) for index in shown}

    def line(cells: Sequence[str]) -> str:
        return "  ".join(cells[index].ljust(widths[index]) for index in shown).rstrip()

    yield style.dim(line(header))
    for row in rows:
        yield line(row)
