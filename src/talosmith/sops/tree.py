"""What a SOPS document is made of: plain dicts and lists, and the comments that stand in them.

A comment is a key of its mapping (with no value) or an item of its list, at the place where it stands. So a document
without comments is plain data, order is kept, and an edit of the dict keeps the comments around it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["yaml", "json"]
Document = dict[Any, Any]  # keys are str or Comment


@dataclass(frozen=True, slots=True, eq=False)
class Comment:
    """The text behind a `#`. Each one is itself: two with the same text may stand in one mapping."""

    text: str
    inline: bool = False  # behind a value on the same line, not on a line of its own


def settled(document: Document) -> Document:
    """The same document with its comments where every YAML writer has a line for them.

    What stands first in an item of a list goes in front of the item: behind the dash is no room. What stands in an
    empty mapping or list, or last after one, goes in front of that: `sops` writes such files back as broken YAML.
    """
    comments, result = _settle(document, in_list=False)
    return result or dict.fromkeys(comments)


def _settle(value: Any, *, in_list: bool) -> tuple[list[Comment], Any]:
    """Comments that must go in front of the value, and the value without them."""
    if not isinstance(value, (dict, list, tuple)):
        return [], value
    is_mapping = isinstance(value, dict)
    entries: list[Any] = []  # comments, and pairs or items wrapped in a tuple
    for entry in value:
        if isinstance(entry, Comment):
            entries.append(entry)
            continue
        above, inner = _settle(value[entry] if is_mapping else entry, in_list=not is_mapping)
        entries += above
        entries.append((entry, inner))
    last = len(entries)
    while last and isinstance(entries[last - 1], Comment):
        last -= 1
    if last and entries[last - 1][1] in ({}, []):
        entries[last - 1 :] = [*entries[last:], entries[last - 1]]
    first = next((at for at, entry in enumerate(entries) if not isinstance(entry, Comment)), len(entries))
    hoisted = entries[:first] if in_list or first == len(entries) else []
    rest = entries[len(hoisted) :]
    if is_mapping:
        return hoisted, dict((entry, None) if isinstance(entry, Comment) else entry for entry in rest)
    return hoisted, [entry if isinstance(entry, Comment) else entry[1] for entry in rest]


def place_of(path: str) -> str:
    """A path as SOPS binds values to it (`a:b:`), for people."""
    return path.rstrip(":").replace(":", ".") or "the document"


def plain(value: Any) -> Any:
    """The same data without its comments."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if not isinstance(key, Comment)}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value if not isinstance(item, Comment)]
    return value
