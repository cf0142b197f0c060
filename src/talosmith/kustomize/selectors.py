"""Which objects a patch is for: types and names by regular expressions, labels and annotations by selectors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from talosmith.kustomize.errors import ManifestError
from talosmith.kustomize.resources import Resource

_REQUIREMENT = re.compile(
    r"\s*(?:(?P<absent>!)\s*(?P<no>[^\s=!<>,()]+)"
    r"|(?P<key>[^\s=!<>,()]+)\s*(?:(?P<word>in|notin)\s*\((?P<set>[^()]*)\)"
    r"|(?P<sign>==|!=|=|>|<)\s*(?P<value>[^\s=!<>,()]*))?)\s*(?:,|\Z)"
)


def selects(target: Mapping[str, str], one: Resource) -> bool:
    """Whether the object matches every part of the target; a name or namespace now or at first."""
    try:
        return (
            _matches(target, "namespace", one.original.namespace, one.id.namespace)
            and _matches(target, "name", one.original.name, one.name)
            and all(_matches(target, key, getattr(one.id, key)) for key in ("group", "version", "kind"))
            and _selects(target.get("labelSelector", ""), one.metadata.get("labels"))
            and _selects(target.get("annotationSelector", ""), one.metadata.get("annotations"))
        )
    except re.error as wrong:
        raise ManifestError(f"target: not a regular expression ({wrong})") from None


def _matches(target: Mapping[str, str], key: str, *values: str) -> bool:
    pattern = target.get(key)
    return not pattern or any(re.fullmatch(pattern, value) for value in values)


def _selects(selector: str, labels: Any) -> bool:
    labels = labels if isinstance(labels, dict) else {}
    place = 0
    while place < len(selector):
        found = _REQUIREMENT.match(selector, place)
        if not found:
            raise ManifestError(f"target: not a label selector: {selector}")
        if not _fulfils(found, labels):
            return False
        place = found.end()
    return True


def _fulfils(found: re.Match[str], labels: dict[str, Any]) -> bool:
    if found["absent"]:
        return found["no"] not in labels
    key, sign = found["key"], found["sign"]
    value = labels.get(key)
    if found["word"]:
        inside = key in labels and value in [one.strip() for one in found["set"].split(",")]
        return inside is (found["word"] == "in")
    if sign in ("=", "=="):
        return key in labels and value == found["value"]
    if sign == "!=":
        return key not in labels or value != found["value"]
    if sign:
        try:
            have, wanted = int(str(value)), int(found["value"])
        except ValueError:
            return False
        return have > wanted if sign == ">" else have < wanted
    return key in labels
