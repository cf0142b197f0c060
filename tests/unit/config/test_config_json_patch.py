"""RFC 6902, and where it may be used."""

from __future__ import annotations

from typing import Any

import pytest

from talosmith.desired.config.load import load
from talosmith.desired.config.patch.apply import apply_patches, load_patch, patch_from_value
from talosmith.desired.config.patch.jsonpatch import JsonPatchError, apply_operations
from talosmith.desired.config.problems import ConfigError

SEVERAL = "machine: {}\n---\napiVersion: v1alpha1\nkind: OOMConfig\n"
DOCUMENT = {"a": {"b/c": 1, "~": 2}, "list": [1, 2, 3], "null": None}


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        ({"op": "add", "path": "/a/b~1c", "value": 5}, {"a": {"b/c": 5, "~": 2}}),
        ({"op": "remove", "path": "/a/~0"}, {"a": {"b/c": 1}}),
        ({"op": "add", "path": "/list/0", "value": 0}, {"list": [0, 1, 2, 3]}),
        ({"op": "add", "path": "/list/3", "value": 4}, {"list": [1, 2, 3, 4]}),
        ({"op": "add", "path": "/list/-", "value": 4}, {"list": [1, 2, 3, 4]}),
        ({"op": "replace", "path": "/list/-1", "value": 9}, {"list": [1, 2, 9]}),
        ({"op": "replace", "path": "/new", "value": 1}, {"new": 1}),
        ({"op": "move", "from": "/list/0", "path": "/list/-"}, {"list": [2, 3, 1]}),
        ({"op": "copy", "from": "/list/0", "path": "/a/x"}, {"a": {"b/c": 1, "~": 2, "x": 1}}),
        ({"op": "test", "path": "/list", "value": [1, 2, 3]}, {}),
        ({"op": "test", "path": "/nope", "value": None}, {}),
    ],
)
def test_operations(operation: dict[str, Any], result: dict[str, Any]) -> None:
    before = repr(DOCUMENT)
    assert apply_operations(DOCUMENT, [operation]) == {**DOCUMENT, **result}
    assert repr(DOCUMENT) == before


def test_the_whole_document_can_only_be_replaced() -> None:
    assert apply_operations(DOCUMENT, [{"op": "replace", "path": "", "value": {"x": 1}}]) == {"x": 1}
    with pytest.raises(JsonPatchError):
        apply_operations(DOCUMENT, [{"op": "add", "path": "", "value": {}}])


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": "/nope"},
        {"op": "remove", "path": "/list/3"},
        {"op": "add", "path": "/list/4", "value": 1},
        {"op": "add", "path": "/list/x", "value": 1},
        {"op": "add", "path": "/nope/x", "value": 1},
        {"op": "add", "path": "/null/x", "value": 1},
        {"op": "add", "path": "/list/0/x", "value": 1},
        {"op": "replace", "path": "/list/3", "value": 1},
        {"op": "test", "path": "/list/0", "value": 1.0},
        {"op": "test", "path": "/list/0", "value": True},
        {"op": "move", "from": "/nope", "path": "/x"},
        {"op": "copy", "from": "/list/7", "path": "/x"},
        {"op": "move", "path": "/x"},
        {"op": "add", "value": 1},
        {"op": "merge", "path": "/x"},
        {"path": "/x"},
    ],
)
def test_operations_that_cannot_be_done(operation: dict[str, Any]) -> None:
    with pytest.raises(JsonPatchError):
        apply_operations(DOCUMENT, [operation])


@pytest.mark.parametrize(
    "text",
    [
        '[{"op": "add", "path": "/machine/certSANs/-", "value": "\\ud83d\\ude00"}]',
        '- op: add\n  path: /machine/certSANs/-\n  value: "\\U0001F600"\n',
        "[{op: add, path: /machine/certSANs/-, value: \U0001f600}]",
    ],
)
def test_operations_are_read_from_json_and_yaml(text: str) -> None:
    assert apply_patches(load("machine: {}"), [load_patch(text)])[0]["machine"]["certSANs"] == ["\U0001f600"]


def test_file_modes_survive() -> None:
    base = load("machine: {files: [{path: /a, permissions: 0o600}]}")
    patch = patch_from_value([{"op": "add", "path": "/machine/token", "value": "t"}], "inline")
    assert apply_patches(base, [patch])[0]["machine"]["files"][0]["permissions"] == 0o600


@pytest.mark.parametrize(
    ("base", "patch", "what"),
    [
        ("machine: {}", "- {op: remove, path: /nope}", "p.yaml: error: there is no key 'nope' to remove"),
        ("machine: {}", "- {op: add, path: /nope, value: 1}", "p.yaml: error: nope: is not a field that Talos knows"),
        (SEVERAL, "- {op: add, path: /debug, value: true}", "several documents"),
        (SEVERAL, "# nothing", "the patch is empty"),
        ("machine: {}", "- just\n- words\n", "list of RFC 6902 operations"),
        ("machine: {}", "[{", "not YAML"),
    ],
)
def test_refusals_name_the_patch(base: str, patch: str, what: str) -> None:
    with pytest.raises(ConfigError) as caught:
        apply_patches(load(base), [load_patch(patch, "p.yaml")])
    assert "p.yaml" in str(caught.value)
    assert what in str(caught.value)
