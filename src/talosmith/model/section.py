"""The form all sections of an inventory share: unknown keys are errors, nothing is converted silently, all frozen."""

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
    """Lets a section be written shorter: `expand` makes the full form, `written` is the type editors are told."""
    return BeforeValidator(expand, json_schema_input_type=written)
