"""The base of all sections of an inventory: unknown keys are errors, no silent conversion, frozen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, BeforeValidator, ConfigDict


class Section(BaseModel):
    """A part of the inventory. The text below a field is its description in the editor's schema."""

    # What checks a section is built once, as part of the whole inventory's. Defaults that need no check are made by
    # `model_construct`: the class itself, called, would build a check of its own.
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


def shorthand(expand: Callable[[Any], Any], written: Any) -> BeforeValidator:
    """A shorter way to write a section: `expand` returns the full form, `written` is the type in the JSON Schema."""
    return BeforeValidator(expand, json_schema_input_type=written)
