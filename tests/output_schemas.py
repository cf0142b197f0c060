"""Checks what a command printed against the schema of its kind."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import yaml
from jsonschema import Draft202012Validator

from talosmith.report.schemas import KINDS, schema_of


@cache
def validator(kind: str) -> Draft202012Validator:
    schema = schema_of(kind)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def assert_valid(value: Any) -> None:
    kind = value.get("kind") if isinstance(value, dict) else None
    assert kind, f"not an object with a kind: {str(value)[:200]}"
    assert list(value)[:2] == ["apiVersion", "kind"]
    wrong = [f"{kind}{error.json_path[1:]}: {error.message[:300]}" for error in validator(kind).iter_errors(value)]
    assert not wrong, "\n".join(wrong)


def objects(text: str, output: str) -> list[Any]:
    """What a command printed: JSON is one object, or one on each line; YAML is one document or several."""
    if output == "yaml":
        return list(yaml.safe_load_all(text))
    try:
        return [json.loads(text)]
    except ValueError:
        return [json.loads(line) for line in text.splitlines()]


def assert_output(command: str, text: str, output: str, *, failed: bool = False) -> list[Any]:
    """All objects are of the command's kinds; a command that fails may print an Error."""
    found = objects(text, output)
    assert found, f"{command} printed nothing"
    for one in found:
        assert_valid(one)
    kinds = {one["kind"] for one in found}
    assert kinds <= {*KINDS[command], *(["Error"] if failed else [])}, f"{command} printed {kinds}"
    return found
