"""Which changes of a machine config take effect only with a reboot of the node.

Talos up to 1.13 finds some of them out when the config is applied, and refuses them in the mode `no-reboot`; from
1.14 on it accepts every change and leaves reboots to the caller. So the plan predicts them, by the tables in
`reboot_rules`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from talosmith.desired.config.emit import canonical
from talosmith.desired.config.reboot_rules import AT_ONCE, FREE, RULES, Place, RebootRule
from talosmith.desired.config.schema.documents import MAIN, Document
from talosmith.desired.config.schema.notation import ListOf, MapOf, Struct, Type
from talosmith.desired.config.schema.scalars import Scalar
from talosmith.model.versions import Version

_META = ("apiVersion", "kind", "name")
_CONTROLPLANE = ("controlplane", "init")


@dataclass(frozen=True, slots=True)
class Found:
    """A setting in one config: where, for people to read, and its value."""

    place: str
    value: Any


def needs_reboot(before: Sequence[Document], after: Sequence[Document], version: Version) -> tuple[str, ...]:
    """The settings, such as `machine.files`, for whose sake a node with this Talos has to reboot."""
    return tuple(reboot_reasons(before, after, version))


def reboot_reasons(before: Sequence[Document], after: Sequence[Document], version: Version) -> dict[str, str]:
    """The settings that take effect only with a reboot, each with the reason."""
    found = dict.fromkeys(refused_without_reboot(before, after, version), "Talos refuses the change without a reboot")
    old, new = ([canonical(one) for one in documents] for documents in (before, after))
    for rule in RULES:
        if rule.since <= version.line < rule.until and (not rule.controlplane or _is_controlplane(new)):
            for place in _differing(rule, old, new, version):
                if not any(place == one or place.startswith((f"{one}.", f"{one}[")) for one in found):
                    found[place] = rule.reason
    return found


def refused_without_reboot(
    before: Sequence[Document], after: Sequence[Document], version: Version
) -> tuple[str, ...]:
    """The fields whose change this Talos refuses in the modes `no-reboot` and `try`; none from 1.14 on."""
    return () if version.line >= FREE else tuple(_changed(MAIN, _main(before), _main(after), "", version))


def _main(documents: Sequence[Document]) -> Document:
    return next((document for document in documents if "kind" not in document), {})


def _is_controlplane(documents: Sequence[Document]) -> bool:
    return (_main(documents).get("machine") or {}).get("type") in _CONTROLPLANE


def _differing(rule: RebootRule, before: list[Any], after: list[Any], version: Version) -> Iterator[str]:
    old, new = (_settings(rule, documents) for documents in (before, after))
    for name in dict.fromkeys([*old, *new]):
        if name in rule.but and version.line >= FREE:
            continue
        default = Found("", rule.places[0].default)
        mine, theirs = old.get(name, default), new.get(name, default)
        if mine.value == theirs.value and not (rule.counts == "kept" and name not in new):
            continue
        if (rule.counts == "existing" and not (name in old and name in new)) or (
            rule.counts == "kept" and name not in old
        ):
            continue
        yield theirs.place or mine.place


def _settings(rule: RebootRule, documents: Sequence[Document]) -> dict[str, Found]:
    """By name, in whichever form the config has them; of one that is set in both, the document counts."""
    found: dict[str, Found] = {}
    for place in rule.places:
        found |= {name: setting for document in documents for name, setting in _in_document(place, document)}
    return found


def _in_document(place: Place, document: Document) -> Iterator[tuple[str, Found]]:
    if document.get("kind", "") != place.kind:
        return
    own = str(document.get("name") or "") if place.kind else ""
    prefix = "".join(f"{part}/" for part in (place.kind, own) if part)
    value = _inside(document, place.path)
    if not place.each:
        if place.kind or value is not None:
            whole = prefix.removesuffix("/") if not place.path else f"{prefix}{place.path}"
            yield place.name or own, Found(whole, place.default if value is None else value)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if not place.field or inner.get(place.field):
                shown = f"{prefix}{place.path}.{key}" + (f".{place.field}" if place.field else "")
                yield str(key), Found(shown, inner.get(place.field) if place.field else inner)
    else:
        for number, (name, items) in enumerate(_by_name(value or (), place.each).items()):
            values = [one.get(place.field) if place.field else one for one in items]
            yield name, Found(f"{prefix}{place.path}[{number}]", values[0] if len(values) == 1 else values)


def _inside(document: Document, path: str) -> Any:
    value: Any = document if path else {key: value for key, value in document.items() if key not in _META}
    for key in path.split(".") if path else ():
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _by_name(items: Sequence[Mapping[str, Any]], key: str) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for item in items:
        found.setdefault(str(item.get(key)), []).append(item)
    return found


def _changed(struct: Struct, one: Document, other: Document, path: str, version: Version) -> Iterator[str]:
    at_once = AT_ONCE[path]
    for key, field in struct.fields.items():
        if version.line >= at_once.get(key, FREE):
            continue
        place = f"{path}.{key}" if path else key
        mine, theirs = one.get(key), other.get(key)
        if place in AT_ONCE and mine is not None and theirs is not None and isinstance(field.type, Struct):
            yield from _changed(field.type, mine, theirs, place, version)
        elif not _same(field.type, mine, theirs, nullable=field.nullable):
            yield place


def _same(of: Type, one: Any, other: Any, *, nullable: bool) -> bool:
    """As Talos compares: a plain field that is absent is the same as one of zero, but no list is not an empty one."""
    if isinstance(of, Scalar):
        if not nullable:
            one, other = (of.zero if value is None else value for value in (one, other))
        return bool(one == other)
    if isinstance(of, Struct) and not nullable:
        one, other = one or {}, other or {}
    if one is None or other is None:
        return one is other
    if isinstance(of, Struct):
        return all(
            _same(field.type, one.get(key), other.get(key), nullable=field.nullable)
            for key, field in of.fields.items()
        )
    if isinstance(of, ListOf):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_same(of.item, *pair, nullable=of.nullable) for pair in pairs)
    if isinstance(of, MapOf):
        return one.keys() == other.keys() and all(
            _same(of.value, one[key], other[key], nullable=of.nullable) for key in one
        )
    return bool(one == other)
