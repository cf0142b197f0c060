"""Strict loading and canonical writing."""

from __future__ import annotations

import pytest

from talosmith.desired.config.emit import emit
from talosmith.desired.config.load import load
from talosmith.desired.config.problems import ConfigError, dotted
from talosmith.desired.config.schema.documents import KINDS, MAIN
from talosmith.desired.config.schema.notation import Struct


def refusals(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(text, "cp-1.yaml")
    return [problem.sentence() for problem in caught.value.problems]


def test_all_unknown_keys_are_named_with_their_lines() -> None:
    found = refusals(
        "machine:\n  tokne: a\n  network:\n    interfaces:\n      - interface: e\n        adresses: []\n"
    )
    assert found == [
        "cp-1.yaml:2: error: machine.tokne: is not a field that Talos knows; did you mean token?",
        "cp-1.yaml:6: error: machine.network.interfaces[0].adresses: is not a field that Talos knows;"
        " did you mean addresses?",
    ]


def test_a_refusal_does_not_repeat_the_value() -> None:
    found = refusals("machine:\n  ca:\n    crt: YQ==\n    key: not-base64-but-a-secret\n")
    assert len(found) == 1
    assert "not-base64" not in found[0]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "no machine config"),
        ("# only a comment\n", "no machine config"),
        ("machine: [\n", "not YAML"),
        ("- a\n", "is a mapping"),
        ("version: v1alpha1\n", "neither a kind nor"),
        ("kind: OOMConfig\n", "no apiVersion"),
        ("apiVersion: v2\nkind: OOMConfig\n", "apiVersion that Talos does not know"),
        ("apiVersion: v1alpha1\nkind: Nope\n", "the kind Nope, which no Talos up to 1.14 knows"),
        ("machine: {}\n---\ncluster: {}\n", "there twice"),
        ("machine:\n  token: a\n  token: b\n", "there twice"),
        ("machine: {sysctls: {a: '1', a: '2'}}\n", "there twice"),
        ("machine: {token: !!binary YQ==}\n", "YAML tag"),
        ("machine: {kubelet: {extraConfig: &a {b: *a}}}\n", "`*a` stands inside `&a` itself"),
        ("machine: {token: [a]}\n", "not a single value"),
        ("machine: {sysctls: {<<: {a: b}}}\n", "merge key"),
        ("machine: {network: {interfaces: [{interface: e, mtu: .inf}]}}\n", "is not a whole number"),
        ("machine: {network: {interfaces: [{interface: e, mtu: .nan}]}}\n", "is not a whole number"),
        ("apiVersion: v1alpha1\nkind: NetworkRuleConfig\nname: a\nportSelector: {ports: [.inf]}\n", "neither a port"),
    ],
)
def test_what_is_refused(text: str, what: str) -> None:
    assert any(what in one for one in refusals(text))


def test_kinds_that_exclude_each_other() -> None:
    text = "\n---\n".join(
        f"apiVersion: v1alpha1\nkind: {kind}\nname: same" for kind in ("LinkConfig", "VLANConfig", "StaticHostConfig")
    )
    assert [one for one in refusals(text) if "exclude each other" in one] == refusals(text)


def test_fields_are_written_in_order_and_empty_ones_left_out() -> None:
    text = emit(
        load(
            "cluster: {controlPlane: {}}\nmachine: {sysctls: {}, kubelet: {}, time: {bootTimeout: 0s}, type: worker}"
        )
    )
    assert text == (
        'version: ""\n'
        "machine:\n"
        "    type: worker\n"
        '    token: ""\n'
        "    certSANs: []\n"
        "    kubelet: {}\n"
        "    time: {}\n"
        "cluster:\n"
        "    controlPlane:\n"
        "        endpoint: null\n"
    )


def test_values_are_brought_into_talos_form() -> None:
    text = emit(load(
        "machine:\n"
        "  files: [{content: 'permissions: 420', permissions: 0644, path: 5, op: create}]\n"
        "  disks: [{device: a, partitions: [{size: 1500MB}, {size: 10GiB}]}]\n"
        "  certSANs: [a, null, 3]\n"
    ))  # fmt: skip
    assert "permissions: 0o644" in text
    assert "content: 'permissions: 420'" in text
    assert 'path: "5"' in text
    assert "size: 1.5 GB" in text
    assert "size: 10737418240" in text
    assert 'certSANs:\n        - a\n        - "3"\n' in text


def test_the_main_document_comes_first() -> None:
    documents = load("apiVersion: v1alpha1\nkind: OOMConfig\n---\nmachine: {}\n")
    assert ["kind" in document for document in documents] == [False, True]


def test_text_with_line_separators_keeps_its_place() -> None:
    content = "one\u2028two\nthree\n\n  four\n"
    written = emit(load(emit(load('machine: {files: [{content: "one\\Ltwo\\nthree\\n\\n  four\\n"}]}'))))
    assert load(written)[0]["machine"]["files"][0]["content"] == content


def test_every_kind_has_its_head_first() -> None:
    for kind, struct in KINDS.items():
        assert list(struct.fields)[:2] == ["apiVersion", "kind"], kind
    assert isinstance(MAIN.fields["machine"].type, Struct)


def test_paths_are_written_as_one_would_type_them() -> None:
    assert dotted(("machine", "files", 0, "a.b/c", "d-e")) == 'machine.files[0]["a.b/c"].d-e'
