"""`$patch: delete`."""

from __future__ import annotations

from typing import Any

import pytest

from talosmith.desired.config.load import load
from talosmith.desired.config.patch.apply import apply_patches, load_patch
from talosmith.desired.config.problems import ConfigError

BASE = """
machine:
  sysctls: {a: "1", b: "2"}
  install: {disk: /dev/sda}
  files: [{path: /a, content: x}, {path: /b, content: y}]
  kubelet: {extraConfig: {deep: {one: 1, two: 2}}}
---
apiVersion: v1alpha1
kind: LinkConfig
name: eth0
mtu: 1500
"""


def patched(patch: str) -> list[dict[str, Any]]:
    return [dict(document) for document in apply_patches(load(BASE), [load_patch(patch, "p.yaml")])]


def test_fields_keys_items_and_documents() -> None:
    main, *rest = patched(
        "machine:\n"
        "  sysctls: {a: {$patch: delete}}\n"
        "  install: {disk: {$patch: delete}}\n"
        "  files: [{path: /a, $patch: delete}]\n"
        "  kubelet: {extraConfig: {deep: {one: {$patch: delete}}}}\n"
        "---\n"
        "{apiVersion: v1alpha1, kind: LinkConfig, name: eth0, $patch: delete}\n"
    )
    assert rest == []
    assert main["machine"] == {
        "sysctls": {"b": "2"},
        "install": {},
        "files": [{"path": "/b", "content": "y"}],
        "kubelet": {"extraConfig": {"deep": {"two": 2}}},
    }


def test_deleting_goes_before_merging() -> None:
    main = patched("machine: {files: [{path: /c, content: z}, {path: /a, $patch: delete}]}")[0]
    assert [one["path"] for one in main["machine"]["files"]] == ["/b", "/c"]


def test_an_empty_field_may_be_deleted() -> None:
    assert patched("machine: {install: {image: {$patch: delete}}}")[0]["machine"]["install"] == {"disk": "/dev/sda"}


def test_a_document_may_be_deleted_and_made_anew_in_one_patch() -> None:
    head = "apiVersion: v1alpha1, kind: LinkConfig, name: eth0"
    assert patched(f"{{{head}, $patch: delete}}\n---\n{{{head}, up: true}}\n")[1] == {
        "apiVersion": "v1alpha1",
        "kind": "LinkConfig",
        "name": "eth0",
        "up": True,
    }


@pytest.mark.parametrize(
    ("patch", "what"),
    [
        (
            "machine:\n  sysctls:\n    nope: {$patch: delete}",
            "p.yaml:3: error: machine.sysctls.nope: cannot be deleted: path does not exist",
        ),
        ("machine: {network: {hostname: {$patch: delete}}}", "path does not exist"),
        ("machine: {nope: {$patch: delete}}", "Talos knows no such field"),
        ("machine: {files: [{path: /nope, $patch: delete}]}", "no item matches"),
        ("machine: {files: [{$patch: delete}]}", "needs a field that says which item"),
        ("machine: {files: [{path: /a, content: {$patch: delete}}]}", "inside of a list's item"),
        ("{$patch: delete}", "needs apiVersion and kind"),
    ],
)
def test_what_cannot_be_deleted(patch: str, what: str) -> None:
    with pytest.raises(ConfigError) as caught:
        patched(patch)
    assert what in str(caught.value)


@pytest.mark.parametrize("identity", ["kind: LinkConfig, name: nope", "kind: OOMConfig"])
def test_a_document_that_does_not_exist_is_deleted_already(identity: str) -> None:
    """As Talos 1.14 does it; 1.13's talosctl crashed."""
    assert patched(f"{{apiVersion: v1alpha1, {identity}, $patch: delete}}") == load(BASE)
