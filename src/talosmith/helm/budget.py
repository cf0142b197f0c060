"""What a chart may use up while it is rendered: a few lines of a template can ask for more than memory holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from talosmith.helm.expressions import ChartStop

MAX_TEXT = 256 << 20  # written by all templates; what an included template writes counts where it is included, too
MAX_CALLS = 2_000_000  # of templates by templates
MAX_ITEMS = 1_000_000  # of a list, or of a text, that one function makes of a number


@dataclass(slots=True)
class Budget:
    """What is left."""

    text: int = field(default_factory=lambda: MAX_TEXT)
    calls: int = field(default_factory=lambda: MAX_CALLS)

    def call(self) -> None:
        self.calls -= 1
        if self.calls < 0:
            raise ChartStop(f"templates are used more than {MAX_CALLS:,} times")

    def write(self, text: str) -> str:
        self.text -= len(text)
        if self.text < 0:
            raise ChartStop(f"the templates write more than {MAX_TEXT:,} characters")
        return text


def limited(functions: dict[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """The functions whose arguments set the size of their result, with a limit."""
    counts: dict[str, Callable[..., Any]] = {
        "until": abs,
        "untilStep": lambda start, stop, step: abs(stop - start) // max(abs(step), 1),
        "seq": lambda *numbers: max(map(abs, numbers), default=0),
        "repeat": lambda count, text: count * len(text),
    }
    counts |= dict.fromkeys(("randAlpha", "randAlphaNum", "randAscii", "randNumeric", "randBytes"), abs)
    return functions | {name: _counted(functions[name], count) for name, count in counts.items()}


def _counted(function: Callable[..., Any], count: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        try:
            size = count(*arguments)
        except TypeError:
            size = 0  # a mistake of the template, which the function itself reports
        if size > MAX_ITEMS:
            raise ChartStop(f"{int(size):,} items are asked for; {MAX_ITEMS:,} are allowed")
        return function(*arguments)

    return call
