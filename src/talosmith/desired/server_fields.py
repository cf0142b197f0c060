"""Fields of an add-on's objects that are not the add-on's: the server or other programs fill them in.

They are left out: an apply of them would conflict with the program that fills them in, or never be in sync.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Object = Mapping[str, Any]

_NO_CA = ("", "Cg==", None)  # placeholders, the second is an empty line: a CA injector puts the certificate there


def plain(items: Iterable[Object]) -> list[Object]:
    """The objects without such fields."""
    return [change(one) if (change := _BY_KIND.get(str(one.get("kind")))) else one for one in items]


def stored_path(path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """Where a field of an object is found in what `plain` makes of it."""
    return ("data", *path[1:]) if path[:1] == ("stringData",) else path


def _with_data(item: Object) -> Object:
    """A Secret with `data` alone."""
    if not item.get("stringData"):
        return item
    texts = {key: base64.b64encode(str(text).encode()).decode() for key, text in item["stringData"].items()}
    rest = {key: value for key, value in item.items() if key != "stringData"}
    return {**rest, "data": {**(item.get("data") or {}), **texts}}


def _without_aggregated(item: Object) -> Object:
    """A ClusterRole without rules where a controller collects them."""
    return {key: value for key, value in item.items() if key != "rules" or not item.get("aggregationRule")}


def _without_placeholders(item: Object) -> Object:
    """Webhooks without the placeholder of a CA certificate."""
    return {**item, "webhooks": list(map(_with_real_ca, item["webhooks"]))} if item.get("webhooks") else item


def _with_real_ca(hook: Object) -> Object:
    client = hook.get("clientConfig") or {}
    if client.get("caBundle") not in _NO_CA:
        return hook
    return {**hook, "clientConfig": {key: value for key, value in client.items() if key != "caBundle"}}


_BY_KIND: Mapping[str, Callable[[Object], Object]] = {
    "Secret": _with_data,
    "ClusterRole": _without_aggregated,
    "ValidatingWebhookConfiguration": _without_placeholders,
    "MutatingWebhookConfiguration": _without_placeholders,
}
