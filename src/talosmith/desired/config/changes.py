"""Every changed field of a machine config with its value before and after; secrets are masked, their change is not.

Only what Talos would see counts, as in `compare`. What is added or removed is listed field by field, so that each
value is shown or masked by its own rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from talosmith.desired.config.emit import canonical
from talosmith.desired.config.masking import Masking, Place
from talosmith.desired.config.schema.documents import Document, identity, struct_of
from talosmith.desired.config.schema.notation import ListOf, MapOf, Struct, Type
from talosmith.model.resources import SettingChange
from talosmith.yaml.goyaml_scalar import Octal

_ABSENT: Any = None


def changed_fields(before: Sequence[Document], after: Sequence[Document]) -> tuple[SettingChange, ...]:
    """Such as `machine.sysctls.vm.max_map_count: 65530 → 262144`, in the order of the documents' kinds."""
    masking = Masking(before, after)
    old, new = ({identity(one): one for one in documents} for documents in (before, after))
    found: list[SettingChange] = []
    for key in sorted({*old, *new}):
        prefix = "".join(f"{part}/" for part in key if part)
        struct = struct_of(new[key] if key in new else old[key])
        mine, theirs = (_content(documents[key]) if key in documents else _ABSENT for documents in (old, new))
        found += [
            _change(masking, prefix, place, secret, one, other)
            for place, secret, one, other in _leaves(struct, mine, theirs, (), secret=False)
        ]
    return tuple(found)


def _content(document: Document) -> dict[str, Any]:
    """The fields besides what the change's own name says already; a document of a name alone is told by it."""
    content = canonical(document)
    if "kind" in document:
        rest = {key: value for key, value in content.items() if key not in ("apiVersion", "kind", "name")}
        return rest or {"name": content.get("name") or document["kind"]}
    return content


def _change(masking: Masking, prefix: str, place: Place, secret: bool, before: Any, after: Any) -> SettingChange:
    before, after = (f"{value:#o}" if isinstance(value, Octal) else value for value in (before, after))
    one, masked_before = masking.shown(place, before, secret=secret)
    other, masked_after = masking.shown(place, after, secret=secret)
    masked = masked_before or masked_after
    if masked:  # an empty secret is none
        one, other = (None if value == "" else value for value in (one, other))
    return SettingChange(f"{prefix}{_path(place)}", one, other, masked)


def _path(place: Place) -> str:
    text = ""
    for key in place:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


_Leaf = tuple[Place, bool, Any, Any]


def _leaves(of: Type | None, before: Any, after: Any, place: Place, *, secret: bool) -> Iterator[_Leaf]:
    """The deepest places at which both differ."""
    if before == after:
        return
    if secret or not (_is_branch(before) or _is_branch(after)):
        yield place, secret, before, after
    elif isinstance(before, Mapping | None) and isinstance(after, Mapping | None):
        old, new = before or {}, after or {}
        if not old and not new:
            yield place, secret, before, after
        whole = before is None or after is None  # added or removed: its empty fields say nothing
        for key in dict.fromkeys([*old, *new]):
            if whole and not (old.get(key) or new.get(key)):
                continue
            field = of.fields.get(key) if isinstance(of, Struct) else None
            inner = field.type if field else of.value if isinstance(of, MapOf) else None
            hidden = bool(field and field.secret)
            yield from _leaves(inner, old.get(key), new.get(key), (*place, str(key)), secret=hidden)
    elif isinstance(before, list | None) and isinstance(after, list | None):
        yield from _items(of, before, after, place)
    else:
        yield from _leaves(of, before, None, place, secret=secret)
        yield from _leaves(of, None, after, place, secret=secret)


def _items(of: Type | None, before: list[Any] | None, after: list[Any] | None, place: Place) -> Iterator[_Leaf]:
    """A list of plain values as a whole; else item by item, paired by their key or, in lists as long, by position."""
    old, new = before or [], after or []
    if not any(map(_is_branch, [*old, *new])):
        yield place, False, before, after
        return
    item = of.item if isinstance(of, ListOf) else None
    key = of.key if isinstance(of, ListOf) else ""
    if not (key and _named(old, key) and _named(new, key)):
        if len(old) == len(new):
            for index, (one, other) in enumerate(zip(old, new, strict=True)):
                yield from _leaves(item, one, other, (*place, index), secret=False)
            return
        for index, one in enumerate(old):
            yield from _leaves(item, one, one if one in new else None, (*place, index), secret=False)
        for index, one in enumerate(new):
            yield from _leaves(item, one if one in old else None, one, (*place, index), secret=False)
        return
    olds, news = ({one[key]: one for one in items} for items in (old, new))
    for name in dict.fromkeys([*olds, *news]):
        source = new if name in news else old
        number = next(index for index, one in enumerate(source) if one[key] == name)
        yield from _leaves(item, olds.get(name), news.get(name), (*place, number), secret=False)


def _named(items: list[Any], key: str) -> bool:
    names = [one.get(key) for one in items if isinstance(one, Mapping)]
    return len(names) == len(items) == len({*map(str, names)}) and all(names)


def _is_branch(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and bool(value))
