"""Pieces of SVG and HTML: everything that is put into them is made harmless here, and here only."""

from __future__ import annotations

from html import escape

from talosmith.report.text import one_line

# One palette for all pictures, by day and by night.
PALETTE = """
:root{--paper:#ffffff;--ink:#1f2733;--soft:#667085;--line:#d5dae2;--band:#f5f7fa;--box:#ffffff;
--work:#7aa7e0;--wait:#c3d8f2;--hot:#e8912d;--hot-wait:#f6c88f;--bad:#d64545;--good:#3f9b63;--idle:#b6bdc9;
--blue:#e8f1fc;--blue-edge:#5b8fd0;--green:#e9f6ee;--green-edge:#55a878;--amber:#fdf3e3;--amber-edge:#d99a3c;
--red:#fdecec;--red-edge:#d65a5a;--grey:#f3f5f8;--grey-edge:#a8b0bd}
@media (prefers-color-scheme:dark){:root{--paper:#14181f;--ink:#e6eaf0;--soft:#98a2b3;--line:#333b47;--band:#1b212b;
--box:#1b212b;--work:#3f6fae;--wait:#294868;--hot:#c9771b;--hot-wait:#80521c;--bad:#c94a4a;--good:#3f9b63;
--idle:#4b5563;--blue:#1b2a3f;--blue-edge:#5b8fd0;--green:#19301f;--green-edge:#55a878;--amber:#33270f;
--amber-edge:#d99a3c;--red:#3a1c1c;--red-edge:#d65a5a;--grey:#20262f;--grey-edge:#626c7a}}
""".strip()
FONT = "font-family:ui-sans-serif,system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif"


def safe(text: object, longest: int = 400) -> str:
    """Text for between tags and for quoted attributes."""
    return escape(one_line(text, longest), quote=True)


def number(value: float) -> str:
    """Coordinates, short and the same everywhere."""
    return f"{value:.1f}".removesuffix(".0")


def text_at(x: float, y: float, text: object, css: str = "", *, longest: int = 400) -> str:
    chosen = f' class="{css}"' if css else ""
    return f'<text x="{number(x)}" y="{number(y)}"{chosen}>{safe(text, longest)}</text>'


def box(x: float, y: float, width: float, height: float, css: str, *, radius: float = 6, title: str = "") -> str:
    place = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" rx="{number(radius)}"'
    if not title:
        return f'<rect {place} class="{css}"/>'
    return f'<rect {place} class="{css}"><title>{title}</title></rect>'


def document(width: float, height: float, title: str, style: str, body: str) -> str:
    """A picture that stands on its own."""
    size = f'width="{number(width)}" height="{number(height)}" viewBox="0 0 {number(width)} {number(height)}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" style="{FONT}">\n'
        f"<title>{safe(title)}</title>\n<style>{PALETTE}\n{style.strip()}</style>\n"
        f'<rect width="100%" height="100%" class="paper"/>\n{body}\n</svg>\n'
    )


def fitted(text: str, width: float, size: float = 12.0) -> str:
    """As much of `text` as fits into `width` pixels, by the usual width of a letter."""
    room = int(width / (size * 0.54))
    return text if len(text) <= room else text[: room - 1] + "…" if room > 2 else ""
