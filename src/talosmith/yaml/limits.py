"""Limits that every YAML reader has in common, checked on the parser's events before a reader builds anything.

A text of 2 KB whose aliases refer to each other stands for more values than memory holds, and a text nested deep
enough overflows the stack of PyYAML's C composer, which ends the process with a segmentation fault.
"""

from __future__ import annotations

from typing import Any

import yaml

MAX_DEPTH = 50
MAX_MANIFEST_DEPTH = 200  # schemas of custom resources nest deeper than what people write
MAX_VALUES = 250_000
MAX_ALIASED = 100_000  # values reached through aliases, counted each time they are reached
TOO_MANY_ALIASED = "the aliases (`*name`) unfold into too many values"

_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_STARTS = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_ENDS = (yaml.MappingEndEvent, yaml.SequenceEndEvent)


class LimitExceeded(yaml.MarkedYAMLError):
    """A text beyond the limits. A YAML error, so that readers without a text of their own for it refuse it too."""

    def __init__(self, what: str, mark: Any) -> None:
        super().__init__(problem=what, problem_mark=mark)
        self.what = what
        self.line = int(mark.line) + 1


def too_deep(most: int = MAX_DEPTH) -> str:
    return f"nested deeper than {most} levels"


def contains_itself(name: str) -> str:
    return f"`*{name}` stands inside `&{name}` itself"


def too_many(most: int = MAX_VALUES) -> str:
    return f"more than {most:,} values in one file"


def check_limits(text: str, *, depth: int = MAX_DEPTH, values: int | None = MAX_VALUES) -> None:
    """Raise `LimitExceeded` for a text beyond the limits, `yaml.YAMLError` for no YAML. Keys count as values."""
    sizes: dict[str, int] = {}  # of what each anchor names, its own aliases unfolded
    open_: list[tuple[str | None, int]] = []  # the anchors of the collections around, and the count before each
    count = aliased = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.ScalarEvent):
            count += 1
            if event.anchor:
                sizes[event.anchor] = 1
        elif isinstance(event, _STARTS):
            if len(open_) >= depth:
                raise LimitExceeded(too_deep(depth), event.start_mark)
            open_.append((event.anchor, count))
            count += 1
            sizes.pop(event.anchor or "", None)
        elif isinstance(event, _ENDS):
            anchor, before = open_.pop()
            if anchor:
                sizes[anchor] = count - before
        elif isinstance(event, yaml.AliasEvent):
            name = event.anchor or ""
            if name not in sizes and any(name == anchor for anchor, _ in open_):
                raise LimitExceeded(contains_itself(name), event.start_mark)
            size = sizes.get(name, 1)  # an alias of nothing is for the reader to refuse
            count += size
            aliased += size
            if aliased > MAX_ALIASED:
                raise LimitExceeded(TOO_MANY_ALIASED, event.start_mark)
        elif isinstance(event, yaml.DocumentStartEvent):
            sizes.clear()
        if values is not None and count > values:
            raise LimitExceeded(too_many(values), event.start_mark)
