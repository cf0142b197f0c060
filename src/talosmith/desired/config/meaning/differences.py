"""How two meanings differ: section, path, and both values, in which no secret is seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from talosmith.desired.config.masking import Masking, Place
from talosmith.desired.config.meaning.meaning import SECTIONS, Meaning
from talosmith.model.resources import SettingChange

_SECRET_SECTIONS = ("discovery_identity",)  # the id, too, lets anyone read a cluster's data of the discovery service


Difference = tuple[Place, Any, Any]  # section and path, and both values, which may be secrets


def differences(one: Meaning, other: Meaning) -> list[SettingChange]:
    """Such as `kubelet.extraArgs.v: 2 → 4`, section by section."""
    return masked(differing_places(one, other), one, other)


def differing_places(one: Meaning, other: Meaning) -> list[Difference]:
    """The same with the values as they are: for comparing, not for showing."""
    return [
        difference for name in SECTIONS for difference in _leaves(one.section(name), other.section(name), (name,))
    ]


def masked(found: Sequence[Difference], one: Meaning, other: Meaning) -> list[SettingChange]:
    if not found:
        return []
    masking = Masking(one.documents, other.documents)
    return [_change(masking, *difference) for difference in found]


def _change(masking: Masking, place: Place, before: Any, after: Any) -> SettingChange:
    secret = place[0] in _SECRET_SECTIONS
    shown_before, masked_before = masking.shown(place, before, secret=secret)
    shown_after, masked_after = masking.shown(place, after, secret=secret)
    return SettingChange(_path(place), shown_before, shown_after, masked_before or masked_after)


def _path(place: Place) -> str:
    text = ""
    for key in place:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


def _leaves(before: Any, after: Any, place: Place) -> Iterator[Difference]:
    """The deepest places at which both differ; what one of them lacks as a whole is gone through field by field."""
    if before == after:
        return
    if not before and not after:
        yield place, _text(before), _text(after)
    elif _is_branch(before, Mapping) and _is_branch(after, Mapping):
        old, new = before or {}, after or {}
        for key in dict.fromkeys([*old, *new]):
            yield from _leaves(old.get(key), new.get(key), (*place, str(key)))
    elif _is_branch(before, list) and _is_branch(after, list) and _has_parts(before, after):
        old, new = before or [], after or []
        for index in range(max(len(old), len(new))):
            one = old[index] if index < len(old) else None
            yield from _leaves(one, new[index] if index < len(new) else None, (*place, index))
    else:
        yield place, _text(before), _text(after)


def _is_branch(value: Any, of: type) -> bool:
    """None counts as an empty branch, so that each field of what was added is masked by its own rules."""
    return value is None or isinstance(value, of)


def _has_parts(before: Any, after: Any) -> bool:
    return any(isinstance(one, Mapping | list) for one in [*(before or ()), *(after or ())])


def _text(value: Any) -> Any:
    """An empty mapping or list is not the same as none."""
    return "{}" if isinstance(value, Mapping) else "[]" if value == [] else value
