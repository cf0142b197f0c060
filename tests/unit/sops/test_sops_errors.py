"""What cannot be opened or written: every error says what, and how to go on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from talosmith import sops
from talosmith.errors import SecretsError
from talosmith.sops import Creation, Identities, Kind, Rule
from talosmith.sops.age import new_key, wrap


def replaced(old: str, new: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert re.search(old, text, re.MULTILINE), f"nothing to change: {old}"
        return re.sub(old, new, text, count=1, flags=re.MULTILINE)

    return change


def test_a_missing_identity_says_for_whom_and_where_it_looked(
    creation: Creation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_home: Path
) -> None:
    path = tmp_path / "a.yaml"
    sops.save(path, {"a": "1"}, creation)
    wrong = new_key()
    monkeypatch.setenv("SOPS_AGE_KEY", wrong)
    with pytest.raises(SecretsError, match=f"{path}.*{creation.recipients[0]}") as caught:
        sops.load(path)
    hint = caught.value.hint
    assert "SOPS_AGE_KEY (1 identity)" in hint
    assert "SOPS_AGE_KEY_FILE (not set)" in hint
    assert f"{own_home}/.config/sops/age/keys.txt (missing)" in hint
    assert wrong not in hint + str(caught.value)


@pytest.mark.parametrize(
    ("key", "named"),
    [
        ("kms", "AWS KMS"),
        ("gcp_kms", "Google Cloud KMS"),
        ("hckms", "Huawei Cloud KMS"),
        ("azure_kv", "Azure Key Vault"),
        ("hc_vault", "HashiCorp Vault"),
        ("pgp", "PGP"),
        ("key_groups", "key groups"),
    ],
)
def test_other_kinds_of_keys_are_named(
    key: str, named: str, creation: Creation, identities: Identities, tmp_path: Path
) -> None:
    text = sops.encrypt([{"a": "1"}], creation, "yaml")
    only = re.sub(r"    age:\n(        .*\n)+", f"    {key}:\n        - x: y\n", text)
    with pytest.raises(SecretsError, match=f"encrypted for {named}.*age keys only") as caught:
        sops.decrypt(only, "yaml", identities)
    assert "--add-age" in caught.value.hint
    path = tmp_path / "a.yaml"
    path.write_text(text.replace("    lastmodified", f"    {key}:\n        - x: y\n    lastmodified"))
    assert sops.load(path, identities) == {"a": "1"}  # age opens it, the others are left alone …
    with pytest.raises(SecretsError, match=f"also encrypted for {named}"):
        sops.rekey(path, creation.recipients, identities)  # … and not locked out
    path.write_text(only)
    with pytest.raises(SecretsError, match=f"also encrypted for {named}"):
        sops.save(path, {"a": "2"}, creation)
    assert path.read_text() == only


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (replaced(r"sops:\n(.*\n)+", ""), "not encrypted with SOPS"),
        (replaced(r"sops:\n(.*\n)+", "sops: 1\n"), "is not a mapping"),
        (replaced(r"    age:\n(        .*\n)+", ""), "encrypted for no key"),
        (replaced(r"    age:\n(        .*\n)+", "    age:\n        - x\n"), "without `recipient`"),
        (replaced("    mac: .*\n", ""), "no `mac`"),
        (replaced("    lastmodified: .*\n", ""), "no `lastmodified`"),
        (replaced("    unencrypted_suffix", "    encrypted_regex: a\n    unencrypted_suffix"), "takes one of them"),
        (replaced("unencrypted_suffix: .*", "encrypted_regex: (?=a)"), "regular expression"),
        (replaced("unencrypted_suffix: .*", "encrypted_regex: 5"), "not a string"),
    ],
)
def test_a_broken_block_is_said(
    change: Callable[[str], str], says: str, creation: Creation, identities: Identities
) -> None:
    text = change(sops.encrypt([{"a": "1"}], creation, "yaml"))
    with pytest.raises(SecretsError, match=says) as caught:
        sops.decrypt(text, "yaml", identities)
    assert caught.value.hint


def test_blocks_of_older_releases_are_read(creation: Creation, identities: Identities) -> None:
    text = sops.encrypt([{"a": "1"}], Creation(creation.recipients, Rule(mac_only_encrypted=True)), "yaml")
    old = text.replace("    lastmodified", "    kms: []\n    pgp: []\n    hc_vault: []\n    lastmodified")
    old = old.replace("mac_only_encrypted: true", 'mac_only_encrypted: "true"').replace(
        "    unencrypted_suffix: _unencrypted\n", ""
    )
    old = re.sub(r'lastmodified: "(.*)Z"', r'lastmodified: "\1.123Z"', old)
    assert sops.decrypt(old, "yaml", identities).documents == [{"a": "1"}]


def test_a_data_key_of_another_length_is_refused(creation: Creation, identities: Identities) -> None:
    text = sops.encrypt([{"a": "1"}], creation, "json")
    content = json.loads(text)
    content["sops"]["age"][0]["enc"] = wrap(b"short", creation.recipients[0])
    with pytest.raises(SecretsError, match="has 5 bytes"):
        sops.decrypt(json.dumps(content), "json", identities)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"a": {"b": 2**64}}, r"a\.b does not fit 64 bits"),
        ({"a": {"b": object()}}, r"a\.b is a object"),
        ({"a": {1: "x"}}, "a has a key that is a int"),
        ({"sops": 1}, "encrypted already"),
        ({"a": "\ud800"}, "surrogate"),
        ({"\ud800": "a"}, "surrogate"),
    ],
)
def test_what_sops_cannot_hold_is_refused_and_nothing_written(
    data: dict[Any, Any], says: str, creation: Creation, tmp_path: Path
) -> None:
    path = tmp_path / "a.yaml"
    with pytest.raises(SecretsError, match=says) as caught:
        sops.save(path, data, creation)
    assert caught.value.hint
    assert not path.exists()


@pytest.mark.parametrize(
    "rule", [Rule("encrypted_regex", "^b$"), Rule("unencrypted_suffix", "a"), Rule("encrypted_comment_regex", "x")]
)
def test_a_rule_that_seals_nothing_is_refused(rule: Rule, creation: Creation, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    with pytest.raises(SecretsError, match="seals no value") as caught:
        sops.save(path, {"a": "hidden"}, Creation(creation.recipients, rule))
    assert caught.value.hint
    assert not path.exists()


def test_nothing_to_seal_is_no_mistake(creation: Creation, identities: Identities) -> None:
    text = sops.encrypt([{"a": None, "b": "", "c": []}], creation, "yaml")
    assert sops.decrypt(text, "yaml", identities).documents == [{"a": None, "b": "", "c": []}]


def test_deep_nesting_is_refused(creation: Creation) -> None:
    deep: list[Any] = []
    for _ in range(300):
        deep = [deep]
    with pytest.raises(SecretsError, match="too deep"):
        sops.encrypt([{"a": deep}], creation, "json")


@pytest.mark.parametrize(
    ("recipient", "says"),
    [
        ("age1nonsense", "not an age recipient"),
        ("", "not an age recipient"),
        ("AGE-SECRET-KEY-1XYZ", "not an age recipient"),
        ("age1yubikey1qwe", "not an age recipient"),
        ("ssh-ed25519 AAAA", "not an age recipient"),
        ("age1pq1nonsense", "not an age recipient"),
    ],
)
def test_nothing_is_written_for_a_wrong_recipient(
    recipient: str, says: str, creation: Creation, tmp_path: Path
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("old")
    with pytest.raises(SecretsError, match=says) as caught:
        sops.save(path, {"a": "hidden"}, Creation((*creation.recipients, recipient)))
    assert caught.value.hint
    assert path.read_text() == "old"
    assert "plugin" in caught.value.hint if "yubikey" in recipient else True


def test_nobody_to_encrypt_for_is_refused() -> None:
    with pytest.raises(SecretsError, match="no recipient"):
        sops.encrypt([{"a": "1"}], Creation(()), "yaml")


@pytest.mark.parametrize(("documents", "kind"), [([], "yaml"), ([{}, {}], "json")])
def test_a_number_of_documents_that_a_file_cannot_hold(documents: Any, kind: Kind, creation: Creation) -> None:
    with pytest.raises(SecretsError, match=f"cannot hold {len(documents)} documents"):
        sops.encrypt(documents, creation, kind)


def test_several_documents_are_not_one(creation: Creation, identities: Identities, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    sops.save(path, [{"a": 1}, {"b": 2}], creation)
    assert sops.load_all(path, identities) == [{"a": 1}, {"b": 2}]
    with pytest.raises(SecretsError, match="2 documents, not one"):
        sops.load(path, identities)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is not JSON: .* line 1"),
        ('{"a": 1,\n "a": 2}', "'a' twice"),
        ("[1]", "not an object"),
        ('{"a": NaN}', "holds NaN"),
        ('{"a": 1e999}', "too large"),
        ("[" * 100_000, "too deep"),
    ],
)
def test_a_mistake_in_json_is_said(text: str, says: str) -> None:
    with pytest.raises(SecretsError, match=says) as caught:
        sops.parse(text, "json", "a.json")
    assert caught.value.hint


def test_json_has_no_infinity(creation: Creation) -> None:
    rule = Rule("encrypted_regex", "^b$")
    with pytest.raises(SecretsError, match="NaN or infinity"):
        sops.encrypt([{"a": float("inf"), "b": 1}], Creation(creation.recipients, rule), "json")


def test_json_integers_beyond_64_bits_become_floats() -> None:
    text = '{"a": 9223372036854775807, "b": 9223372036854775808, "c": -0, "d": 1.0}'
    (document,) = sops.parse(text, "json", "a.json")
    assert repr(document) == "{'a': 9223372036854775807, 'b': 9.223372036854776e+18, 'c': 0, 'd': 1.0}"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("missing.yaml", None, "is missing"),
        ("a.txt", b"", "neither YAML nor JSON"),
        ("a.yaml", b"\xff\xfe", "not UTF-8"),
        ("folder.yaml", "folder", "is a folder, not a regular file"),
    ],
)
def test_a_file_that_cannot_be_read_is_said(
    name: str, content: bytes | str | None, says: str, identities: Identities, tmp_path: Path
) -> None:
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content:
        path.mkdir()
    with pytest.raises(SecretsError, match=says) as caught:
        sops.load(path, identities)
    assert caught.value.hint
    assert path.exists() is (content is not None)


def test_nothing_secret_is_shown(creation: Creation, identities: Identities) -> None:
    opened = sops.decrypt(sops.encrypt([{"a": "hidden"}], creation, "yaml"), "yaml", identities)
    shown = repr(opened) + repr(identities)
    assert "hidden" not in shown
    assert identities.found[0].key.reveal() not in shown
