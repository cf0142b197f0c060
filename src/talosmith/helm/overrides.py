"""Single values laid over a chart's values: what `--set` does on Helm's command line, but as data with types.

There is nothing to quote: the value is what it is. Only the path is text: `image.tag`, `args[0]`, and a backslash
before a dot that belongs to a key (`nodeSelector.kubernetes\\.io/os`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from talosmith.errors import UsageError
from talosmith.helm.values import copied

_MAX_INDEX = 65536
_PART = re.compile(r"((?:\\.|[^.\[\]\\])*)((?:\[[0-9]+\])*)(\.|$)")


@dataclass(frozen=True)
class Override:
    """One value and where it goes. None takes away what the chart has there."""

    path: str
    value: Any


def applied(values: Mapping[str, Any], overrides: Iterable[Override]) -> dict[str, Any]:
    """The values with the overrides in them; later ones win. Nothing given is changed."""
    result: dict[str, Any] = copied(dict(values))
    for override in overrides:
        steps = parse_path(override.path)
        _put(result, steps, copied(override.value), override.path)
    return result


def parse_path(path: str) -> list[str | int]:
    """Keys and list places, in order."""
    steps: list[str | int] = []
    place = 0
    while True:
        match = _PART.match(path, place)
        if match is None or not match[1]:
            raise UsageError(f"{path!r} is no path to a value", hint="for example image.tag or args[0]")
        steps.append(re.sub(r"\\(.)", r"\1", match[1]))
        for index in re.findall(r"[0-9]+", match[2]):
            if int(index) > _MAX_INDEX:
                raise UsageError(f"{path!r} names place {index} of a list; {_MAX_INDEX} is the last one allowed")
            steps.append(int(index))
        place = match.end()
        if not match[3]:
            return steps


def _put(holder: Any, steps: list[str | int], value: Any, path: str) -> None:
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if isinstance(step, int):
            holder.extend([None] * (step + 1 - len(holder)))
        if following is None:
            holder[step] = value
            return
        wanted: type[Any] = list if isinstance(following, int) else dict
        present = holder[step] if isinstance(step, int) else holder.get(step)
        if present is None:
            present = holder[step] = wanted()
        elif not isinstance(present, wanted):
            raise UsageError(f"{path!r} leads into a value that is no {'list' if wanted is list else 'table'}")
        holder = present
