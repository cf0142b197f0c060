"""Whether a CustomResourceDefinition would be replaced by an older one: its objects could be lost, or not be read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# Where projects note the version of their CRDs.
_MARKS = (
    ("annotations", "gateway.networking.k8s.io/bundle-version"),
    ("labels", "app.kubernetes.io/version"),
    ("labels", "helm.sh/chart"),
)
_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(?:[-+].*)?$")


def downgrade(live: Mapping[str, Any] | None, wanted: Mapping[str, Any]) -> str:
    """Why the live definition must not be replaced by the wanted one; empty: it may be."""
    if live is None:
        return ""
    name = wanted["metadata"]["name"]
    served = {str(one.get("name")) for one in (wanted.get("spec") or {}).get("versions") or ()}
    stored = [one for one in (live.get("status") or {}).get("storedVersions") or () if one not in served]
    if stored:
        return f"{name}: objects are stored as {', '.join(stored)}, which the new definition does not have"
    for part, key in _MARKS:
        before, after = _mark(live, part, key), _mark(wanted, part, key)
        if before and after and after < before:
            return f"{name}: {_text(live, part, key)} is installed, the new definition is {_text(wanted, part, key)}"
    return ""


def _text(item: Mapping[str, Any], part: str, key: str) -> str:
    return str((item["metadata"].get(part) or {}).get(key, ""))


def _mark(item: Mapping[str, Any], part: str, key: str) -> tuple[int, ...]:
    found = _VERSION.search(_text(item, part, key))
    return tuple(int(number) for number in found.groups()) if found else ()
