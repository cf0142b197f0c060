"""What was changed without SOPS is found out, and no secret is in the message."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from talosmith import sops
from talosmith.errors import SecretsError
from talosmith.sops import Creation, Identities, Rule


def replaced(old: str, new: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert re.search(old, text, re.MULTILINE), f"nothing to change: {old}"
        return re.sub(old, new, text, count=1, flags=re.MULTILINE)

    return change


CHANGES = {
    "a clear value": (replaced("^c_unencrypted: 3$", "c_unencrypted: 4"), "MAC .* does not match"),
    "a clear value removed": (replaced("^c_unencrypted: 3\n", ""), "MAC .* does not match"),
    "a clear value added": (replaced("^sops:", "x_unencrypted: 1\nsops:"), "MAC .* does not match"),
    "a sealed value removed": (replaced("^a: ENC.*\n", ""), "MAC .* does not match"),
    "an empty value set": (replaced("^a: ENC.*", 'a: ""'), "MAC .* does not match"),
    "a value made null": (replaced("^a: ENC.*", "a: null"), "MAC .* does not match"),
    "values swapped": (replaced(r"^a: (ENC.*)\nb: (ENC.*)", r"a: \2\nb: \1"), "a does not open"),
    "order changed": (replaced(r"^(a: ENC.*\n)(b: ENC.*\n)", r"\2\1"), "MAC .* does not match"),
    "a key renamed": (replaced("^a: ENC", "z: ENC"), "z does not open"),
    "data": (replaced("^a: ENC(.*)data:....", r"a: ENC\1data:AAAA"), "a does not open"),
    "a nonce": (replaced("^a: ENC(.*)iv:....", r"a: ENC\1iv:AAAA"), "a does not open"),
    "a tag": (replaced("^a: ENC(.*)tag:....", r"a: ENC\1tag:AAAA"), "a does not open"),
    "a type": (replaced("^a: ENC(.*)type:str", r"a: ENC\1type:int"), "a is sealed as int"),
    "an unknown type": (replaced("^a: ENC(.*)type:str", r"a: ENC\1type:odd"), "a is sealed as odd"),
    "a value made a comment": (replaced("^a: ENC(.*)type:str", r"a: ENC\1type:comment"), "a holds a sealed comment"),
    "base64": (replaced("^a: ENC(.*)data:..", r"a: ENC\1data:="), "a is a sealed value with broken base64"),
    "a value cut off": (replaced("^a: ENC(.*),type:str]", r"a: ENC\1"), "a is not a sealed value"),
    "a nonce cut off": (replaced("iv:[^,]*", "iv:AAAA"), "a does not open"),
    "a value in clear": (replaced("^a: ENC.*", "a: plain"), "a should be sealed but is in clear"),
    "a number in clear": (replaced("^a: ENC.*", "a: 5"), "a should be sealed but is in clear"),
    "the time": (replaced('lastmodified: "20..', 'lastmodified: "1999'), "MAC of .* does not open"),
    "the MAC": (replaced("mac: .*", 'mac: ""'), "MAC .* does not match"),
    "the MAC's kind": (
        replaced("unencrypted_suffix", "mac_only_encrypted: true\n    unencrypted_suffix"),
        "MAC .* does",
    ),
    "the rule": (
        replaced("unencrypted_suffix: _unencrypted", "unencrypted_suffix: a"),
        "MAC .* does not match|in clear",
    ),
    "the data key": (replaced("(-----BEGIN.*\n *)YWdl", r"\1YWdm"), "no age identity opens"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_file_is_refused(name: str, creation: Creation, identities: Identities) -> None:
    change, says = CHANGES[name]
    text = sops.encrypt([{"a": "hidden1", "b": "hidden2", "c_unencrypted": 3}], creation, "yaml")
    with pytest.raises(SecretsError, match=says) as caught:
        sops.decrypt(change(text), "yaml", identities, source="a.yaml")
    assert caught.value.hint
    assert "hidden" not in str(caught.value) + caught.value.hint
    assert caught.value.__cause__ is None


def test_with_mac_only_encrypted_clear_values_may_change(creation: Creation, identities: Identities) -> None:
    rule = Rule(mac_only_encrypted=True)
    text = sops.encrypt([{"a": "1", "c_unencrypted": 3}], Creation(creation.recipients, rule), "yaml")
    changed = text.replace("c_unencrypted: 3", "c_unencrypted: 4")
    assert sops.decrypt(changed, "yaml", identities).documents == [{"a": "1", "c_unencrypted": 4}]


def test_a_value_from_another_file_does_not_open(creation: Creation, identities: Identities) -> None:
    first, second = (sops.encrypt([{"a": "x"}], creation, "yaml") for _ in range(2))
    mixed = "\n".join([second.split("\n")[0], *first.split("\n")[1:]])
    with pytest.raises(SecretsError, match="a does not open"):
        sops.decrypt(mixed, "yaml", identities)
