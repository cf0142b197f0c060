"""Every secret that belongs to a cluster: of the secrets file, named by the inventory, in machine configs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from pydantic import BaseModel

from talosmith.desired.bundle import Bundle
from talosmith.desired.secrets_file import Secrets
from talosmith.desired.target import Desired
from talosmith.errors import SecretsError
from talosmith.model.values import SecretRef
from talosmith.support.machine_config import redacted_config


def known_secrets(desired: Desired, secrets: Secrets) -> set[str]:
    found = {*_texts(secrets.bundle.to_mapping()), *_texts(secrets.named)} - set(certificates(secrets.bundle))
    for reference in _references(desired.cluster):
        with suppress(SecretsError):  # an environment variable that is not set
            found.add(secrets.value_of(reference).reveal())
    for node in desired.nodes.values():
        found |= redacted_config(node.config)[1]
    return found


def certificates(bundle: Bundle) -> Iterator[str]:
    """Not secret, though they share stretches of text with their keys."""
    return (pair["crt"] for pair in bundle.to_mapping()["certs"].values() if "crt" in pair)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _references(value: Any) -> Iterator[SecretRef]:
    if isinstance(value, SecretRef):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _references(getattr(value, name))
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _references(getattr(value, field.name))
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _references(inner)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from _references(inner)
