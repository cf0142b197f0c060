"""How two configs differ: which fields, and as a diff that may be shown.

Only what Talos would see counts: the order of documents, notation, and empty fields that are left out or written out
make no difference. Secrets are compared, and never shown.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from talosmith.desired.config.emit import canonical, emit
from talosmith.desired.config.redact import redact_pair
from talosmith.desired.config.schema.documents import Document, identity

_MISSING = object()


def differing_paths(before: Sequence[Document], after: Sequence[Document]) -> tuple[str, ...]:
    """Such as `machine.sysctls.vm.max_map_count`, `HostnameConfig/hostname`, `LinkConfig/eth0/mtu`."""
    ours, theirs = ({identity(one): canonical(one) for one in documents} for documents in (before, after))
    found: list[str] = []
    for key in sorted({*ours, *theirs}):
        place = "/".join(part for part in key if part)
        if key in ours and key in theirs:
            found += [f"{place}/{path}" if place else path for path in _inside(ours[key], theirs[key], "")]
        else:
            found.append(place or "v1alpha1")
    return tuple(found)


def difference(
    before: Sequence[Document], after: Sequence[Document], names: tuple[str, str] = ("now", "then"), lines: int = 3
) -> list[str]:
    """A unified diff in which no secret is seen; of one that differs, that it does. Empty: they say the same."""
    then, now = redact_pair(after, before)
    old, new = (emit(sorted(documents, key=identity)).splitlines() for documents in (now, then))
    return list(difflib.unified_diff(old, new, *names, lineterm="", n=lines))


def _inside(before: Any, after: Any, path: str) -> Iterator[str]:
    """The deepest paths at which they differ. A list that got longer or shorter differs as a whole."""
    if before == after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys([*before, *after]):
            inner = f"{path}.{key}" if path else str(key)
            yield from _inside(before.get(key, _MISSING), after.get(key, _MISSING), inner)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _inside(one, other, f"{path}[{index}]")
    else:
        yield path
