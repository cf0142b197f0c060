"""The schemas of command output: strict, documented, each with an example; docs/output.md is made of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from talosmith.cli.app import run
from talosmith.report.data import envelope, plain, rfc3339
from talosmith.report.schemas import all_kinds, schema_of
from tests.output_schemas import assert_valid, validator
from tools.output_reference import PAGE, render


def parts(schema: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The schema and all schemas in it."""
    if isinstance(schema, dict):
        yield path, schema
        for key, inner in schema.items():
            if key not in ("examples", "enum", "const", "if", "then"):
                yield from parts(inner, f"{path}.{key}")
    elif isinstance(schema, list):
        for place, inner in enumerate(schema):
            yield from parts(inner, f"{path}[{place}]")


@pytest.mark.parametrize("kind", all_kinds())
def test_schemas_are_strict_and_describe_every_field(kind: str) -> None:
    for path, one in parts(schema_of(kind), kind):
        fields = one.get("properties")
        if fields is None or not isinstance(fields, dict) or one.get("type") != "object":
            continue
        assert one["additionalProperties"] is False, path
        optional = {"controlplane", "worker"} if path == "Cluster.properties.role_patches" else set()
        assert set(fields) - set(one["required"]) == optional, path
        for name, field in fields.items():
            assert "description" in field or "$ref" in field, f"{path}.{name} has no description"
            assert name == "apiVersion" or name == name.lower(), f"{path}.{name} is not snake_case"


@pytest.mark.parametrize("kind", all_kinds())
def test_values_of_enums_are_kebab_case(kind: str) -> None:
    for path, one in parts(schema_of(kind), kind):
        for value in one.get("enum", ()):
            assert not isinstance(value, str) or "_" not in value, f"{path}: {value}"


@pytest.mark.parametrize("kind", all_kinds())
def test_the_example_of_a_kind_fits_its_schema(kind: str) -> None:
    for example in schema_of(kind)["examples"]:
        assert example["kind"] == kind
        assert_valid(example)


@pytest.mark.parametrize("change", ["another", "less"])
def test_a_field_more_or_less_is_found(change: str) -> None:
    (example,) = schema_of("Result")["examples"]
    if change == "another":
        example["another"] = 1
    else:
        del example["exit_code"]
    assert not validator("Result").is_valid(example)


def test_data_of_an_event_depends_on_its_type() -> None:
    (example,) = schema_of("Event")["examples"]
    assert not validator("Event").is_valid({**example, "type": "step-failed"})
    assert not validator("Event").is_valid({**example, "time": "2026-01-02 03:04:05"})


def test_every_schema_is_the_schema_of_a_command() -> None:
    found = {path.name for path in files("talosmith.report.schemas").iterdir() if path.name.endswith(".json")}
    assert found == {f"{kind}.json" for kind in all_kinds()}


def test_the_page_is_made_from_the_schemas() -> None:
    """If not: python -m tools.output_reference"""
    assert PAGE.read_text(encoding="utf-8") == render()


@pytest.mark.slow
def test_talosmith_schema_prints_them(capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*argv: str) -> Any:
        assert run(["schema", *argv]) == 0
        return json.loads(capsys.readouterr().out)

    assert printed("output", "Result") == schema_of("Result")
    everything = printed("output")
    whole = Draft202012Validator(everything)
    for kind in all_kinds():  # all examples of a kind are held to its own schema above; here each kind is found
        assert whole.is_valid(schema_of(kind)["examples"][0])
    assert not whole.is_valid({"apiVersion": "talosmith.dev/v1", "kind": "Another"})
    assert printed("inventory") == printed("cluster") == printed()
    assert printed("nodes") != printed("cluster")


@pytest.mark.parametrize(
    ("argv", "message"),
    [(("output", "Statsu"), "did you mean `Status`?"), (("nodes", "Status"), "talosmith schema output Status")],
)
def test_a_kind_that_does_not_exist(argv: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", *argv]) == 64
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("data", [[1, 2], {"kind": "x"}, {"apiVersion": "x"}, None])
def test_an_output_is_an_object_without_a_kind_of_its_own(data: Any) -> None:
    with pytest.raises(TypeError, match="Status"):
        envelope("Status", data)


def test_empty_text_is_null_and_empty_lines_stay() -> None:
    found = envelope("Console", {"node": "", "lines": ["a", ""], "more": [{"text": ""}], "none": [], "zero": 0})
    assert list(found.values())[2:] == [None, ["a", ""], [{"text": None}], [], 0]


def test_times_are_rfc3339_in_utc() -> None:
    assert rfc3339(1767323045.5) == "2026-01-02T03:04:05.500Z"
    assert rfc3339(None) is None


def test_keys_of_steps_and_exit_codes_are_plain_values() -> None:
    from talosmith.errors import ExitCode
    from talosmith.plan.step import StepKey

    values = plain([StepKey("machine", "cp-1"), ExitCode.USAGE, True])
    assert [type(value) for value in values] == [str, int, bool]
