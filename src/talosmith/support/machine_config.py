"""Machine configs without their secrets, and those secrets, which are searched for in all other files.

Talos' schema marks its own secrets. Free-form fields (files, manifests, environment) may hold any other: a support
bundle has their names and sizes only, and their values count as secrets where they are one line.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from talosmith.desired.config.emit import emit
from talosmith.desired.config.load import load
from talosmith.desired.config.problems import ConfigError
from talosmith.desired.config.redact import redact, secret_values
from talosmith.errors import Permanent
from talosmith.model.secret import Secret

_CONTENT = ("content", "contents")
_VALUES = ("env", "environment")
_WORTH = 8  # characters; shorter free-form values are `true`, `10m` and words that are everywhere


def redacted_config(config: Secret) -> tuple[str, set[str]]:
    """The config without secrets, and the secrets. Fails where the schema is not known: nothing would mark them."""
    try:
        documents = load(config.reveal())
    except ConfigError:
        raise Permanent(
            "machine config not collected: its Talos is newer than the schema that marks secrets"
        ) from None
    shown = emit([without_free_form(one) for one in redact(documents)])
    return shown, secret_values(documents) | set(_free_form(documents))


def without_free_form(value: Any, key: str = "") -> Any:
    """Plain data with the same keys; for patches of an inventory as well as for configs."""
    if isinstance(value, str) and key in _CONTENT:
        return f"****** ({len(value)} characters)"
    if isinstance(value, dict):
        if key in _VALUES:
            return dict.fromkeys(value, "******")
        return {name: without_free_form(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        if key in _VALUES and all(isinstance(one, str) for one in value):
            return [f"{one.partition('=')[0]}=******" for one in value]
        return [without_free_form(one, key) for one in value]
    return value


def _free_form(value: Any, key: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _free_form(inner, key if key in _VALUES else name)
    elif isinstance(value, list):
        for one in value:
            yield from _free_form(one, key)
    elif isinstance(value, str) and (key in _CONTENT or key in _VALUES):
        text = value.strip()
        text = text.partition("=")[2] if key in _VALUES and "=" in text else text
        if len(text) >= _WORTH and "\n" not in text:
            yield text
