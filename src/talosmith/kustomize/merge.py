"""Strategic merge of a patch into an object, as kustomize does it.

Two habits of kustomize differ from kubectl: elements of the patch come first in a merged list, and a
`$patch: replace` of a single element has no effect.
"""

from __future__ import annotations

from typing import Any

from talosmith.kustomize.builtin_kinds import MergedList, Schema, schema_of
from talosmith.kustomize.errors import ManifestError
from talosmith.kustomize.objects import resolve_for_kustomize

MISSING: Any = object()
_DIRECTIVE = "$patch"
_LONGEST_LIST = 5_000
Identity = tuple[str, ...]


def merge(target: Any, patch: Any, schema: Schema | MergedList | None = None) -> Any:
    """The target with the patch in it, or MISSING for what the patch deletes. Both are changed."""
    present = [value for value in (target, patch) if value is not None and value is not MISSING]
    if not present:
        return None if patch is MISSING else MISSING  # kustomize also drops a null that is written as nothing
    if schema is None:
        schema = next((found for value in present if (found := schema_of(value)) is not None), None)
    if len({_shape(value) for value in present}) > 1:
        raise ManifestError(f"a patch has a {_shape(patch)} where the object has a {_shape(target)}")
    if isinstance(present[0], dict):
        return _merge_maps(target, patch, schema if schema is not None and not isinstance(schema, MergedList) else {})
    if isinstance(present[0], list) and isinstance(schema, MergedList):
        return _merge_lists(target, patch, schema)
    return target if patch is MISSING else MISSING if patch is None else patch


def _shape(value: Any) -> str:
    return "map" if isinstance(value, dict) else "list" if isinstance(value, list) else "single value"


def _merge_maps(target: Any, patch: Any, schema: Schema) -> Any:
    directive = _directive(patch.pop(_DIRECTIVE, "merge")) if isinstance(patch, dict) else "merge"
    if patch is None or directive == "delete":
        return MISSING
    if target is None or target is MISSING or directive == "replace":
        target = patch  # merged with itself: nulls and directives inside of it count too
    other = {} if patch is MISSING else patch
    for key in sorted({*target, *other}):
        value = merge(target.get(key, MISSING), other.get(key, MISSING), schema.get(key))
        if value is MISSING:
            target.pop(key, None)
        else:
            target[key] = value
    return target


def _directive(word: Any) -> str:
    if word not in ("delete", "replace", "merge"):
        raise ManifestError(f"unknown patch strategy `{_DIRECTIVE}: {word}`", hint="delete, replace or merge")
    return str(word)


def _merge_lists(target: Any, patch: Any, schema: MergedList) -> Any:
    if patch is None:
        return MISSING
    directive = "merge" if patch is MISSING else _list_directive(patch)
    if directive == "delete":
        return MISSING
    if target is None or target is MISSING or directive == "replace":
        target = patch
    other = [] if patch is MISSING else patch
    if not schema.keys:
        return [*other, *(value for value in target if value not in other)] if other is not target else target
    if not all(isinstance(one, dict) for one in (*target, *other)):
        raise ManifestError(f"an element of a list that is merged by {' and '.join(schema.keys)} is not a map")
    if len(target) + len(other) > _LONGEST_LIST:
        raise ManifestError(f"a list of more than {_LONGEST_LIST:,} elements cannot be patched")
    return _merge_elements(target, other, schema)


def _list_directive(patch: list[Any]) -> str:
    """Of an element that is nothing but a directive; it is removed from the patch."""
    for element in patch:
        if isinstance(element, dict) and _DIRECTIVE in element:
            if len(element) > 1:
                break
            word = _directive(element[_DIRECTIVE])
            patch[:] = [one for one in patch if not isinstance(one, dict) or one.get(_DIRECTIVE) != word]
            return word
    return "merge"


def _merge_elements(target: list[Any], patch: list[Any], schema: MergedList) -> list[Any]:
    identities = list(dict.fromkeys(_identity(one, schema.keys) for one in (*patch, *target)))
    if len(schema.keys) > 1:
        _complete(identities)
    used = [key for place, key in enumerate(schema.keys) if any(one[place] for one in identities)] or schema.keys
    merged: list[Any] = []
    for identity in identities:
        keys = {key: value for key, value in zip(schema.keys, identity, strict=True) if key in used}
        wanted = {key: value for key, value in keys.items() if value} or keys
        value = merge(_find(target, wanted), _find(patch, wanted), schema.elements)
        if value is MISSING or not value:
            target[:] = [one for one in target if not _has(one, keys)]
            continue
        for key, text in keys.items():
            if text:
                value.setdefault(key, resolve_for_kustomize(text))
        _put(merged, value, keys)
    for element in target:
        keys = {key: _text(element[key]) for key in used if key in element}
        if len(used) > 1:
            merged = [one for one in merged if not _has(one, keys)]
        _put(merged, element, keys)
    return merged


def _identity(element: dict[str, Any], keys: tuple[str, ...]) -> Identity:
    return tuple(_text(element.get(key)) for key in keys)


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _complete(identities: list[Identity]) -> None:
    """Two elements whose keys differ only in what one of them leaves out are the same one."""
    for first in range(len(identities)):
        for second in range(len(identities)):
            pairs = list(zip(identities[first], identities[second], strict=True))
            if any(a == b for a, b in pairs) and all(a == b or not a or not b for a, b in pairs):
                identities[first] = identities[second] = tuple(a or b for a, b in pairs)


def _find(elements: list[Any], keys: dict[str, str]) -> Any:
    return next((one for one in elements if _has(one, keys)), MISSING)


def _has(element: dict[str, Any], keys: dict[str, str]) -> bool:
    return all(key in element and (not value or _text(element[key]) == value) for key, value in keys.items())


def _put(elements: list[Any], value: Any, keys: dict[str, str]) -> None:
    """In place of the element with these keys, or at the end."""
    places = [place for place, one in enumerate(elements) if keys and _has(one, keys)]
    for place in places:
        elements[place] = value
    if not places:
        elements.append(value)
