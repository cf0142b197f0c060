"""Whole files: round trips, a file that `sops` wrote, changed files, and every error with its hint."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from talosmith import sops
from talosmith.errors import SecretsError
from talosmith.model.secret import Secret
from talosmith.sops import Comment, Creation, Identities, Kind, Rule, Timestamp
from talosmith.sops.age import new_key
from talosmith.sops.cipher import Cipher
from talosmith.sops.walk import unseal

DATA: dict[str, Any] = {
    "text": "hello",
    "empty": "",
    "nothing": None,
    "number": -17,
    "fraction": 0.25,
    "whole": 1.0,
    "yes": True,
    "time": Timestamp("2024-01-02T03:04:05.000000001+05:30"),
    "nested": {"list": ["a", ["b", {"c": "d"}], [], {}]},
    "clear_unencrypted": {"a": 1, "b": ["x", 2.5]},
}
RULES = [
    Rule(),
    Rule(mac_only_encrypted=True),
    Rule("unencrypted_suffix", "t"),
    Rule("encrypted_suffix", "t"),
    Rule("encrypted_regex", "^(nested|text)$"),
    Rule("encrypted_regex", "^(nested|text)$", True),
    Rule("unencrypted_regex", "^(c|number)", True),
]


def rule_id(rule: Rule) -> str:
    return f"{rule.selection}-{rule.pattern}-{rule.mac_only_encrypted}"


@pytest.mark.parametrize("kind", ["yaml", "json"])
@pytest.mark.parametrize("rule", RULES, ids=rule_id)
def test_a_round_trip_keeps_values_types_and_order(
    kind: Kind, rule: Rule, creation: Creation, identities: Identities
) -> None:
    text = sops.encrypt([DATA], Creation(creation.recipients, rule), kind)
    opened = sops.decrypt(text, kind, identities)
    expected = DATA if kind == "yaml" else json.loads(json.dumps(DATA))
    if kind == "yaml" or rule.selection == "unencrypted_suffix":
        assert repr(opened.documents) == repr([DATA])
    assert opened.documents == [expected]
    assert opened.creation.rule == rule
    assert opened.creation.recipients == creation.recipients


def sealed_paths(text: str) -> set[str]:
    return set(re.findall(r"^[ -]*(\w+): ENC", text, re.MULTILINE)) - {"mac"}


@pytest.mark.parametrize(
    ("rule", "sealed"),
    [
        (Rule(), {"a", "b_enc", "c", "d"}),
        (Rule("unencrypted_suffix", "c"), {"a", "x_unencrypted", "d"}),
        (Rule("encrypted_suffix", "_enc"), {"b_enc"}),
        (Rule("encrypted_regex", "^e$"), {"c", "d"}),
        (Rule("unencrypted_regex", "^e$"), {"a", "b_enc", "x_unencrypted"}),
    ],
    ids=lambda rule: rule_id(rule) if isinstance(rule, Rule) else "",
)
def test_a_rule_seals_what_it_says_and_all_below(rule: Rule, sealed: set[str], creation: Creation) -> None:
    data = {"a": "1", "b_enc": "1", "x_unencrypted": "1", "e": {"c": "1", "list": [{"d": "1"}]}}
    text = sops.encrypt([data], Creation(creation.recipients, rule), "yaml")
    assert sealed_paths(text) == sealed


def test_several_documents_each_carry_the_block(creation: Creation, identities: Identities) -> None:
    text = sops.encrypt([{"a": "1"}, {}, {"b": "2"}], creation, "yaml")
    assert text.count("\nsops:\n") + text.startswith("sops:") == 3
    assert sops.decrypt(text, "yaml", identities).documents == [{"a": "1"}, {}, {"b": "2"}]


def test_a_key_named_like_python_values_is_not_taken_for_one(creation: Creation, identities: Identities) -> None:
    data = {"yes": "a", "1": "b", "null": "c", "2024-01-02": "d", "": "e", "a:b": "f", "<<": {"g": "h"}}
    assert sops.decrypt(sops.encrypt([data], creation, "yaml"), "yaml", identities).documents == [data]


# A file that sops 3.13.3 wrote. Its age entry is left out and the data key given instead.
DATA_KEY = bytes.fromhex("5f8e9261726e82eebe0d1bd89dcae87093602cee202923ac984662468fe20880")
BY_SOPS = """\
#ENC[AES256_GCM,data:obH/zCQs99GX,iv:LvV/TYidOkKJvuwnDyapeqe9DCYgCELe/0DaKT6GYK8=,tag:hYAbdzELwOQ29PAMeEDkJw==,type:comment]
text: ENC[AES256_GCM,data:/+w5ISM=,iv:TJ+zNOofKFmhWbM8J4ljNZZXCReUBQBmoYlfqGY679g=,tag:tp+mw4i4rKQ5Kouv4vOz8w==,type:str]
number: ENC[AES256_GCM,data:VH76,iv:oGzeQsz7XUp578q49fqd4nprzs1mawpOGRlIC1E5aLE=,tag:yvyNgtaYyjGiRp9Q6AkNrQ==,type:int]
fraction: ENC[AES256_GCM,data:MdlsRA==,iv:+vVFprMWcqLycdQBjJXHCBnFQXcdO9wlA5dHL2OdHzc=,tag:r11bOV9khc7sXyWZShm5rA==,type:float]
yes_no: ENC[AES256_GCM,data:U/BtPQ==,iv:ik6Re5VyZUSH1on93EuAu8flZV4aS5Qk7zQToCvYjKk=,tag:FmFfHosh7kgmkWdkxMqBLg==,type:bool]
nothing: null
empty: ""
day: ENC[AES256_GCM,data:LxcZjdJRem1OqS3VJQ1CL3GaJPE=,iv:ezq0DoMSt07R/JljTMKqg+zR7Zh+9GwIOiivAk7kc3M=,tag:Dx9s088QYs7K4QMQQxS4ag==,type:time]
#ENC[AES256_GCM,data:4cB/j5fI6A==,iv:ehkQ0xy+s+oA8jJmaIIepY/2ftZJAmP7qpwUh4s1Fns=,tag:norgyyM0piUDHEMQ8puM9g==,type:comment]
list:
    - ENC[AES256_GCM,data:P882,iv:E+6cOwuRZQySnkfRbdphzN/u75f35l7Gpm+pzWK9T6g=,tag:69e+VHqRZoTI2UCQXtAqoA==,type:str]
    - ENC[AES256_GCM,data:WtZS0l8yMHE=,iv:WpTCoQX/URBER3Q3jtKELl/j7zxHPC43AG0NGbIFe5k=,tag:cAnr+LammFqZyr0vugSgfw==,type:comment]
    - - ENC[AES256_GCM,data:JA==,iv:2sExDsq+M6Dgx4rZuNKl+6jQPTSxe6R8YdjenDfmVKI=,tag:ATDhfoOr1ndjpXnSSHpfbQ==,type:int]
      - deep: ENC[AES256_GCM,data:kRzCYcE=,iv:UnFH6m8s4UVaI1aVlBLATjrzi3kawOmZI5kYWsCvYDs=,tag:pkeosIjX689uA1YOxYBa4w==,type:str]
clear_unencrypted: 1.5
"""  # noqa: E501
MAC = (
    "ENC[AES256_GCM,data:bACR8e+hRsB9XiuAugsemMELCH2N8pecfP/t/eIY3TLXsU7a9AdPXT5OXnVx6ZoyZ6B/EHggXcWO+Ys4+2nbA8Wfly1nNX7H"
    "aM79ELLmeJxPD8vRXfSE/DiiM0TmALNFLz2dJk2PZZvjIR7yHQDv7DDpAyshEsM8qomlhpa9cCA=,iv:xMXFELdTCmSr371pkyyOk0UN9QBNt2wMUF79"
    "RTfBRvs=,tag:/g20C3LHy2AhlH71g7J4OA==,type:str]"
)


def test_a_file_by_sops_opens_with_its_comments_and_mac() -> None:
    cipher = Cipher(DATA_KEY)
    documents, mac = unseal(sops.parse(BY_SOPS, "yaml", "a test"), Rule(), cipher)
    assert sops.plain(documents[0]) == {
        "text": "hello",
        "number": -17,
        "fraction": 0.25,
        "yes_no": True,
        "nothing": None,
        "empty": "",
        "day": Timestamp("2024-02-29T00:00:00Z"),
        "list": ["one", [2, {"deep": "three"}]],
        "clear_unencrypted": 1.5,
    }
    assert [key.text for key in documents[0] if isinstance(key, Comment)] == [" a secret", " beside"]
    assert [item.text for item in documents[0]["list"] if isinstance(item, Comment)] == [" between"]
    assert cipher.open(MAC, "2026-11-15T20:30:18Z", "the MAC")[0] == mac


def test_comments_are_sealed_inside_and_kept(creation: Creation, identities: Identities) -> None:
    data = {
        Comment(" top"): None,
        Comment(" beside", inline=True): None,
        "a": "1",
        "list": [Comment(" in a list"), "x", Comment("")],
        "b_unencrypted": {Comment(" clear"): None, "c": "2"},
        Comment(" last"): None,
    }
    text = sops.encrypt([data], creation, "yaml")
    assert (
        "top" not in text
        and "beside" not in text
        and "in a list" not in text
        and "last" not in text.split("sops:")[0]
    )
    assert "# clear" in text
    (opened,) = sops.decrypt(text, "yaml", identities).documents
    assert [getattr(key, "text", key) for key in opened] == [" top", " beside", "a", "list", "b_unencrypted", " last"]
    assert [getattr(item, "text", item) for item in opened["list"]] == [
        " in a list",
        "x",
    ]  # SOPS has no empty ones there
    assert [key.inline for key in opened if isinstance(key, Comment)] == [False, True, False]


COMMENTED = """\
a: clear
# please seal
# also this
b: sealed
c: # please seal
    d: sealed
    e:
        - sealed
f:
    # please seal
    - sealed
    - clear
"""


@pytest.mark.parametrize("selection", ["encrypted_comment_regex", "unencrypted_comment_regex"])
def test_comments_can_say_what_is_sealed(
    selection: Any, creation: Creation, identities: Identities, tmp_path: Path
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(COMMENTED)
    sops.encrypt_file(path, Creation(creation.recipients, Rule(selection, "^ please")))
    text = path.read_text().split("sops:")[0]
    left = "clear" if selection.startswith("enc") else "sealed"
    gone = "sealed" if selection.startswith("enc") else "clear"
    assert gone not in text and left in text
    assert "# please seal" in text
    expected = {"a": "clear", "b": "sealed", "c": {"d": "sealed", "e": ["sealed"]}, "f": ["sealed", "clear"]}
    assert sops.load(path, identities) == expected
    (opened,) = sops.open_file(path, identities).documents
    assert [key.text for key in opened if isinstance(key, Comment)] == [" please seal", " also this", " please seal"]


def test_a_comment_rule_that_matches_sealed_comments_is_refused(creation: Creation) -> None:
    rule = Rule("unencrypted_comment_regex", "[A-Z]{3}")
    with pytest.raises(SecretsError, match="matches a sealed comment") as caught:
        sops.encrypt([{Comment(" x"): None, "a": "1"}], Creation(creation.recipients, rule), "yaml")
    assert caught.value.hint


def test_files_are_saved_changed_and_rekeyed(creation: Creation, identities: Identities, tmp_path: Path) -> None:
    path = tmp_path / "secrets.sops.yaml"
    sops.save(path, {Comment(" kept"): None, "a": Secret("one"), "b": "two"}, creation)
    assert path.stat().st_mode & 0o777 == 0o600
    opened = sops.open_file(path, identities)
    opened.documents[0]["b"] = "changed"
    sops.save(path, opened.documents, opened.creation)
    assert sops.load(path, identities) == {"a": "one", "b": "changed"}

    other = sops.parse_identity(new_key(), "a test")
    before = path.read_text()
    assert sops.rekey(path, [other.recipient], identities) == (other.recipient,)
    assert sops.load(path, Identities((other,))) == {"a": "one", "b": "changed"}
    assert [
        key.text for key in sops.open_file(path, Identities((other,))).documents[0] if isinstance(key, Comment)
    ] == [" kept"]
    with pytest.raises(SecretsError, match="no age identity opens"):
        sops.load(path, identities)
    assert not set(re.findall("data:[^,]{8,}", before)) & set(re.findall("data:[^,]{8,}", path.read_text()))


def test_rekey_takes_recipients_and_indent_from_the_rules_file(
    creation: Creation, identities: Identities, tmp_path: Path
) -> None:
    path = tmp_path / "secrets.sops.yaml"
    rule = Rule("encrypted_regex", "^a$", True)
    sops.save(path, {"a": {"b": "1"}, "c": "2"}, Creation(creation.recipients, rule))
    other = sops.parse_identity(new_key(), "a test")
    recipients = [creation.recipients[0], other.recipient]
    (tmp_path / ".sops.yaml").write_text(sops.rules_text(recipients) + "stores:\n  yaml:\n    indent: 2\n")
    assert sops.rekey(path, identities=identities) == tuple(recipients)
    assert "\n  b: ENC" in path.read_text()
    for identity in (*identities.found, other):
        opened = sops.decrypt(path.read_text(), "yaml", Identities((identity,)))
        assert opened.documents == [{"a": {"b": "1"}, "c": "2"}]
        assert opened.creation.rule == rule  # what is sealed does not change by rekeying


def test_importing_is_cheap() -> None:
    """The heavy libraries are loaded when a file is opened, not when a command starts."""
    heavy = "{'yaml', 'pyrage', 'cryptography', 'json'} & set(sys.modules)"
    code = f"import sys, talosmith.inventory; before = {heavy}; import talosmith.sops; print({heavy} - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_save_follows_the_rules_file(creation: Creation, tmp_path: Path) -> None:
    (tmp_path / ".sops.yaml").write_text(
        f"creation_rules: [{{age: {creation.recipients[0]}, encrypted_suffix: _e}}]\n"
        "stores: {json: {indent: 1}}\n"
    )
    sops.save(tmp_path / "a.json", {"a": "1", "b_e": "2"})
    text = (tmp_path / "a.json").read_text()
    assert text.startswith('{\n "a": "1",\n "b_e": "ENC[')


def test_a_file_in_clear_is_encrypted_once(creation: Creation, identities: Identities, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: 1\n")
    assert not sops.is_encrypted(path)
    sops.encrypt_file(path, creation)
    assert sops.is_encrypted(path)
    with pytest.raises(SecretsError, match="encrypted already"):
        sops.encrypt_file(path, creation)
    assert sops.load(path, identities) == {"a": 1}


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    document=st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=6).filter(lambda key: key != "sops"),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers(-(2**63), 2**63 - 1)
            | st.floats(allow_nan=False)
            | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text("ab_:", max_size=3), inner, max_size=3)
            ),
            max_leaves=8,
        ),
        max_size=5,
    ),
    rule=st.sampled_from(RULES),
)
def test_any_document_comes_back(
    document: dict[str, Any], rule: Rule, creation: Creation, identities: Identities
) -> None:
    document |= {"text": "sealed", "z": "sealed"}  # one of them by every rule
    text = sops.encrypt([document], Creation(creation.recipients, rule), "yaml")
    assert repr(sops.decrypt(text, "yaml", identities).documents) == repr([document])
