"""The conditions of a policy's statement, as far as requests to the simulator tell what they ask for.

Operators: StringEquals, StringNotEquals, StringLike, StringNotLike, ArnEquals and ArnLike, each with IfExists or
behind ForAllValues: and ForAnyValue:, and Null. Keys: aws:ResourceTag/…, ec2:ResourceTag/…,
elasticloadbalancing:ResourceTag/…, aws:RequestTag/…, aws:TagKeys, aws:RequestedRegion, iam:PassedToService,
…:CreateAction. Any other key is absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

_STRINGS = ("StringEquals", "StringLike", "ArnEquals", "ArnLike")
_NEGATED = {"StringNotEquals": "StringEquals", "StringNotLike": "StringLike"}


def known_operator(operator: str) -> bool:
    """Whether `holds` evaluates it."""
    plain = _plain(operator)
    return plain in _STRINGS or plain in _NEGATED or plain == "Null"


def holds(
    conditions: Mapping[str, Mapping[str, Any]],
    tags: Mapping[str, str],
    request_tags: Mapping[str, str],
    context: Mapping[str, str],
) -> bool:
    return all(
        _holds(operator, wanted if isinstance(wanted, list) else [wanted], _values(key, tags, request_tags, context))
        for operator, keys in conditions.items()
        for key, wanted in keys.items()
    )


def _values(
    key: str, tags: Mapping[str, str], request_tags: Mapping[str, str], context: Mapping[str, str]
) -> list[str]:
    """Of a key in the request's context; none if it is absent."""
    kind, _, name = key.partition("/")
    if kind.endswith(":ResourceTag"):
        return [tags[name]] if name in tags else []
    if kind == "aws:RequestTag":
        return [request_tags[name]] if name in request_tags else []
    if key == "aws:TagKeys":
        return list(request_tags)
    return [context[key]] if key in context else []


def _holds(operator: str, wanted: list[Any], found: list[str]) -> bool:
    plain = _plain(operator)
    if plain == "Null":
        return any((str(one).lower() == "true") is (not found) for one in wanted)
    if not found and (operator.endswith("IfExists") or operator.startswith("ForAllValues:")):
        return True
    negated = plain in _NEGATED
    plain = _NEGATED.get(plain, plain)
    each = [any(_equal(plain, one, str(pattern)) for pattern in wanted) for one in found]
    if operator.startswith("ForAllValues:"):
        return all(not one if negated else one for one in each)
    return not any(each) if negated else any(each)


def _equal(operator: str, value: str, pattern: str) -> bool:
    return value == pattern if operator == "StringEquals" else fnmatchcase(value, pattern)


def _plain(operator: str) -> str:
    return operator.rpartition(":")[2].removesuffix("IfExists")
