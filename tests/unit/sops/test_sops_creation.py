"""`.sops.yaml`: found upwards, the first rule that matches counts, and mistakes are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from talosmith import sops
from talosmith.errors import SecretsError
from talosmith.sops import Creation, Layout, Rule


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".sops.yaml").write_text(text)
    return folder


RULES = """\
creation_rules:
  - path_regex: ^talos/.*\\.sops\\.ya?ml$
    mac_only_encrypted: true
    age: age1first, age1second,
  - path_regex: kubernetes/
    encrypted_regex: ^(data|stringData)$
    age:
      - age1third
      - age1first,age1third
  - path_regex: \\.secret$
    unencrypted_suffix: _clear
    key_groups:
      - age: [age1fourth]
"""


@pytest.mark.parametrize(
    ("path", "creation"),
    [
        ("talos/a.sops.yaml", Creation(("age1first", "age1second"), Rule(mac_only_encrypted=True))),
        (
            "x/kubernetes/talos/b.yaml",
            Creation(("age1third", "age1first"), Rule("encrypted_regex", "^(data|stringData)$")),
        ),
        ("any.secret", Creation(("age1fourth",), Rule("unencrypted_suffix", "_clear"))),
    ],
)
def test_the_first_rule_that_matches_the_relative_path_counts(path: str, creation: Creation, tmp_path: Path) -> None:
    folder = write(tmp_path / "talos" / "repo", RULES)  # `talos/` above it must not count
    assert sops.find_rule(folder / path) == creation


def test_no_rule_that_matches_is_an_error(tmp_path: Path) -> None:
    folder = write(tmp_path / "talos", RULES)
    with pytest.raises(SecretsError, match=r"no creation rule of .*\.sops\.yaml matches a\.sops\.yaml") as caught:
        sops.find_rule(folder / "a.sops.yaml")
    assert "path_regex" in caught.value.hint


def test_the_nearest_file_above_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "creation_rules: [{age: age1far}]")
    near = write(tmp_path / "a" / "b", "creation_rules: [{age: age1near}]")
    assert sops.find_rule(near / "c" / "d.yaml").recipients == ("age1near",)
    assert sops.find_rule(tmp_path / "a" / "d.yaml").recipients == ("age1far",)
    monkeypatch.chdir(near)
    assert sops.find_rule(Path("d.yaml")).recipients == ("age1near",)
    assert sops.find_rule(Path("../d.yaml")).recipients == ("age1far",)
    assert sops.find_rule(Path("d.yaml"), tmp_path / ".sops.yaml").recipients == ("age1far",)


def test_without_a_file_the_error_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "is_file", lambda self: False)
    assert sops.find_rules_file(tmp_path / "a.yaml") is None
    with pytest.raises(SecretsError, match=r"no \.sops\.yaml") as caught:
        sops.find_rule(tmp_path / "a.yaml")
    assert "secrets init" in caught.value.hint


def test_indents_are_read(tmp_path: Path) -> None:
    write(tmp_path, "creation_rules: [{age: age1x}]\nstores: {yaml: {indent: 2}, json: {indent: 3}}")
    creation = sops.find_rule(tmp_path / "a.yaml")
    assert creation.layout == Layout(2, 3)
    write(tmp_path, "creation_rules: [{age: age1x}]\nstores: {json: {indent: -1}}")
    creation = sops.find_rule(tmp_path / "a.yaml")
    assert creation.layout == Layout(4, "\t")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("creation_rules: [{pgp: ABC, age: age1x}]", "asks for pgp"),
        ("creation_rules: [{kms: 'arn:x'}]", "asks for kms"),
        ("creation_rules: [{gcp_kms: x}]", "asks for gcp_kms"),
        ("creation_rules: [{hckms: [x]}]", "asks for hckms"),
        ("creation_rules: [{azure_keyvault: x}]", "asks for azure_keyvault"),
        ("creation_rules: [{hc_vault_transit_uri: x}]", "asks for hc_vault_transit_uri"),
        ("creation_rules: [{key_groups: [{pgp: [x]}]}]", "asks for pgp"),
        ("creation_rules: [{key_groups: [{age: [x]}, {age: [y]}]}]", "has key_groups"),
        ("creation_rules: [{key_groups: [{merge: [{age: [x]}]}]}]", "merges key groups"),
        ("creation_rules: [{path_regex: a}]", "names no age recipient"),
        ("creation_rules: [{age: 5}]", "neither text nor a list"),
        ("creation_rules: [{age: [5]}]", "neither text nor a list"),
        ("creation_rules: [{age: age1x, encrypted_regex: a, encrypted_suffix: b}]", "takes one of them"),
        ("creation_rules: [{age: age1x, encrypted_regex: '(?=a)'}]", "regular expression"),
        ("creation_rules: [{age: age1x, path_regex: '(a'}]", "regular expression"),
        ("creation_rules: [{age: age1x, path_regex: 5}]", "path_regex that is not a string"),
        ("creation_rules: [5]", "rule 1 of .* is not a mapping"),
        ("creation_rules: 5", "not a list"),
        ("destination_rules: []", "no creation_rules"),
        ("", "no creation_rules"),
        ("a: [", "line 2.* is not YAML"),
    ],
)
def test_mistakes_are_named_and_the_way_on_is_said(text: str, says: str, tmp_path: Path) -> None:
    write(tmp_path, text)
    with pytest.raises(SecretsError, match=says) as caught:
        sops.find_rule(tmp_path / "a.yaml")
    assert caught.value.hint


def test_a_file_that_is_not_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ".sops.yaml").write_bytes(b"\xff")
    with pytest.raises(SecretsError, match="is not UTF-8 text"):
        sops.find_rule(tmp_path / "a.yaml")


def test_new_rules_match_the_files_they_are_for(tmp_path: Path) -> None:
    write(tmp_path, sops.rules_text(["age1x", "age1y"]))
    assert sops.find_rule(tmp_path / "secrets.sops.yaml") == Creation(("age1x", "age1y"))
    assert sops.find_rule(tmp_path / "x" / "y.sops.json").recipients == ("age1x", "age1y")
    with pytest.raises(SecretsError, match="no creation rule"):
        sops.find_rule(tmp_path / "cluster.yaml")
