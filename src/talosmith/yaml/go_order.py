"""The order in which Go's YAML library writes the keys of a map: digits by the number they form, letters last."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cmp_to_key
from typing import Any


def sorted_keys(mapping: Mapping[Any, Any]) -> list[Any]:
    """As Kubernetes' library orders them, which has the library's version 2."""
    keys = list(mapping)
    if len(keys) < 2:
        return keys
    if all(type(key) is str and key.isalpha() for key in keys):
        return sorted(keys)
    return sorted(keys, key=_VERSION_2)


def sort_keys(value: Any) -> Any:
    """The value with its maps ordered as go-yaml 3 orders maps without a schema."""
    if isinstance(value, Mapping):
        return {key: sort_keys(value[key]) for key in sorted(value, key=_VERSION_3)}
    if isinstance(value, list | tuple):
        return [sort_keys(item) for item in value]
    return value


def _compare_version_3(left: Any, right: Any) -> int:
    """Less than nought if `left` goes first: numbers before text, and letters first where a number went before."""
    if not isinstance(left, str) or not isinstance(right, str):
        ranks = [(1, 0) if isinstance(key, str) else (0, key) for key in (left, right)]
        return (ranks[0] > ranks[1]) - (ranks[0] < ranks[1])
    return _compare(left, right, letters_follow_digits=True)


def _compare_version_2(left: Any, right: Any) -> int:
    return _compare(str(left), str(right), letters_follow_digits=False)


def _compare(left: str, right: str, *, letters_follow_digits: bool) -> int:
    at = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), None)
    if at is None:
        return len(left) - len(right)
    a, b = left[at], right[at]
    if a.isalpha() != b.isalpha():
        letters_first = letters_follow_digits and left[:at][-1:].isdecimal()
        return -1 if a.isalpha() == letters_first else 1
    if not a.isalpha():
        # Behind a number that has begun, noughts are figures like the others.
        begun = int("0" in (a, b) and left[:at][len(left[:at].rstrip("0123456789")) :].strip("0") != "")
        runs = [_run(key, at, begun) for key in (left, right)]
        if runs[0] != runs[1]:
            return -1 if runs[0] < runs[1] else 1
    return -1 if a < b else 1


def _run(text: str, start: int, number: int) -> tuple[int, int]:
    """The number whose figures go on at `start`, and where it ends."""
    end = start
    while end < len(text) and text[end].isdecimal():
        number = number * 10 + ord(text[end]) - ord("0")
        number = (number + 2**63) % 2**64 - 2**63  # go-yaml counts in 64 bits
        end += 1
    return number, end


_VERSION_2 = cmp_to_key(_compare_version_2)
_VERSION_3 = cmp_to_key(_compare_version_3)
