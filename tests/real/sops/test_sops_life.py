"""The life of a file between us and the real sops and age: changes, keys, rules, tampering, and what it costs."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from sops_tool import EVERYTHING, VALUES, Tool, comments_of

from talosmith import sops
from talosmith.errors import SecretsError
from talosmith.sops import Comment, Creation, Identities, Kind, Rule
from talosmith.sops.age import new_key


def test_sops_changes_our_files_and_we_read_them(tool: Tool, tmp_path: Path) -> None:
    path = tmp_path / "secrets.sops.yaml"
    (tmp_path / ".sops.yaml").write_text(sops.rules_text([tool.recipient]))
    sops.save(path, {Comment(" kept"): None, "a": {"b": "one"}, "list": ["x"]})
    assert json.loads(tool.ok("filestatus", path)) == {"encrypted": True}
    tool.ok("set", path, '["a"]["b"]', '"two"')
    tool.ok("set", path, '["list"][1]', '{"new": [1, 2.5, null, true]}')
    expected = {"a": {"b": "two"}, "list": ["x", {"new": [1, 2.5, None, True]}]}
    assert sops.load(path, tool.identities) == expected
    tool.ok("unset", path, '["list"]')
    assert sops.load(path, tool.identities) == {"a": {"b": "two"}}

    other = tmp_path / "other.txt"
    (tmp_path / ".sops.yaml").write_text(sops.rules_text([tool.recipient, sops.new_identity(other)]))
    tool.ok("updatekeys", "--yes", path, cwd=tmp_path)
    assert sops.load(path, sops.find_identities(other)) == {"a": {"b": "two"}}
    tool.ok("rotate", "--in-place", path, cwd=tmp_path)
    tool.ok("edit", path, cwd=tmp_path, EDITOR="sed -i s/two/three/")
    opened = sops.open_file(path, sops.find_identities(other))
    assert sops.plain(opened.documents) == [{"a": {"b": "three"}}]
    assert comments_of(opened.documents) == [" kept"]


def test_rekeyed_files_open_for_the_new_recipients_only(tool: Tool, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(tool.encrypt(EVERYTHING, Rule("encrypted_regex", "^data$")))
    new = tmp_path / "new.txt"
    sops.rekey(path, [sops.new_identity(new)], tool.identities)
    assert tool.run("decrypt", path).returncode != 0
    assert json.loads(tool.ok("decrypt", "--output-type", "json", path, SOPS_AGE_KEY_FILE=str(new))) == VALUES


def outline(text: str) -> list[str]:
    """Indents and names, without the age files: theirs differ in length."""
    without = re.sub(r"-----BEGIN[\s\S]*?-----END", "", text)
    return [line.partition(":")[0] for line in without.splitlines()]


def test_creation_rules_are_found_and_read_the_same(tool: Tool, tmp_path: Path) -> None:
    first, second = (sops.parse_identity(new_key(), "a test").recipient for _ in range(2))
    repository = tmp_path / "talos"
    (repository / "deep" / "er").mkdir(parents=True)
    (repository / ".sops.yaml").write_text(f"""\
creation_rules:
  - path_regex: ^talos/.*\\.ya?ml$
    age: {first},{second}
  - path_regex: deep/er/[a-c]
    mac_only_encrypted: true
    encrypted_regex: ^(data|stringData)$
    age: [{second}]
  - path_regex: \\.json$
    unencrypted_suffix: _x
    key_groups: [{{age: [{first}]}}]
stores: {{yaml: {{indent: 2}}, json: {{indent: 3}}}}
""")
    source = tmp_path / "source.yaml"
    source.write_text('{"data": {"a": "1"}, "b_x": "2"}')
    for name in ("talos/a.yaml", "deep/er/b.yaml", "deep/er/d.yaml", "c.json", "deep/e.yml", "deep/talos/a.yaml"):
        path = repository / name
        kind: Kind = "json" if name.endswith("json") else "yaml"
        folder = path.parent if path.parent.exists() else repository
        types = ("--input-type", "json", "--output-type", kind)
        done = tool.run("encrypt", *types, "--filename-override", path, source, cwd=folder)
        if done.returncode:
            assert "no matching creation rules" in done.stderr
            with pytest.raises(SecretsError, match="no creation rule"):
                sops.find_rule(path)
            continue
        creation = sops.find_rule(path)
        theirs = sops.parse(done.stdout, kind, "sops")[0]["sops"]
        assert creation.recipients == tuple(entry["recipient"] for entry in theirs["age"])
        assert creation.rule.fields().items() <= theirs.items()
        ours = sops.encrypt([json.loads(source.read_text())], creation, kind)
        assert outline(ours) == outline(done.stdout)


@pytest.mark.parametrize("post_quantum", [False, True])
def test_keys_of_age_and_ours_are_one_kind(post_quantum: bool, tool: Tool, tmp_path: Path) -> None:
    keygen, extra = tool.keygen, ["-pq"] if post_quantum else []
    theirs, ours = tmp_path / "theirs.txt", tmp_path / "ours.txt"
    subprocess.run([keygen, *extra, "-o", theirs], check=True, capture_output=True)
    recipient = sops.new_identity(ours, post_quantum=post_quantum)
    for key_file in (theirs, ours):
        named = subprocess.run([keygen, "-y", key_file], check=True, capture_output=True, text=True).stdout.strip()
        assert named == sops.find_identities(key_file).found[0].recipient
    assert named == recipient
    lines = [
        [re.sub("[0-9a-z]{40,}|[0-9A-Z]{40,}|[0-9]", "", line) for line in path.read_text().split("\n")]
        for path in (theirs, ours)
    ]
    assert lines[0] == lines[1]

    both = Creation(tuple(sops.find_identities(path).found[0].recipient for path in (theirs, ours)))
    text = tool.write(sops.encrypt([VALUES], both, "yaml"))
    by_sops = tool.ok("encrypt", "--age", ",".join(both.recipients), tool.write(EVERYTHING, ".plain.yaml"))
    for key_file in (theirs, ours):
        assert (
            json.loads(tool.ok("decrypt", "--output-type", "json", text, SOPS_AGE_KEY_FILE=str(key_file))) == VALUES
        )
        identities = sops.find_identities(key_file)
        assert sops.plain(sops.decrypt(by_sops, "yaml", identities).documents) == [VALUES]
    assert tool.run("decrypt", text).returncode != 0  # the tool's own key is not among them


def test_age_itself_opens_our_data_key(tool: Tool, tmp_path: Path) -> None:
    key_file = tmp_path / "keys.txt"
    recipient = sops.new_identity(key_file, post_quantum=True)
    text = sops.encrypt([{"a": "1"}], Creation((tool.recipient, recipient)), "json")
    keys = set()
    for entry, identity in zip(json.loads(text)["sops"]["age"], (tool.key_file, key_file), strict=True):
        done = subprocess.run(
            [tool.age, "-d", "-i", identity], input=entry["enc"].encode(), capture_output=True, check=True
        )
        keys.add(done.stdout)
    assert len(keys) == 1 and len(keys.pop()) == 32


def test_ssh_keys_both_ways(tool: Tool, tmp_path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    path = tmp_path / "id_ed25519"
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    recipient = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    identities = Identities((sops.parse_identity(path.read_text(), "a test"),))
    text = tool.ok("encrypt", "--age", recipient, tool.write("a: 1\n"))
    assert sops.decrypt(text, "yaml", identities).documents == [{"a": 1}]
    ours = tool.write(sops.encrypt([{"a": 1}], Creation((recipient,)), "yaml"))
    shown = tool.ok("decrypt", "--output-type", "json", ours, SOPS_AGE_SSH_PRIVATE_KEY_FILE=str(path))
    assert json.loads(shown) == {"a": 1}


CHANGES = {
    "a clear value": ("^c_unencrypted: 3$", "c_unencrypted: 4"),
    "a clear value removed": ("^c_unencrypted: 3\n", ""),
    "a clear value added": ("^sops:", "x_unencrypted: 1\nsops:"),
    "a sealed value removed": ("^a: ENC.*\n", ""),
    "an empty value set": ("^a: ENC.*", 'a: ""'),
    "a value made null": ("^a: ENC.*", "a: null"),
    "values swapped": (r"^a: (ENC.*)\nb: (ENC.*)", r"a: \2\nb: \1"),
    "order changed": (r"^(a: ENC.*\n)(b: ENC.*\n)", r"\2\1"),
    "a key renamed": ("^a: ENC", "z: ENC"),
    "data": ("^a: ENC(.*)data:....", r"a: ENC\1data:AAAA"),
    "a nonce": ("^a: ENC(.*)iv:....", r"a: ENC\1iv:AAAA"),
    "a tag": ("^a: ENC(.*)tag:....", r"a: ENC\1tag:AAAA"),
    "a type": ("^a: ENC(.*)type:str", r"a: ENC\1type:int"),
    "an unknown type": ("^a: ENC(.*)type:str", r"a: ENC\1type:odd"),
    "a value made a comment": ("^a: ENC(.*)type:str", r"a: ENC\1type:comment"),
    "base64": ("^a: ENC(.*)data:..", r"a: ENC\1data:="),
    "a value cut off": ("^a: ENC(.*),type:str]", r"a: ENC\1"),
    "a value in clear": ("^a: ENC.*", "a: plain"),
    "a number in clear": ("^a: ENC.*", "a: 5"),
    "the time": ('lastmodified: "20..', 'lastmodified: "1999'),
    "no MAC": ("mac: .*", 'mac: ""'),
    "the MAC's kind": ("unencrypted_suffix", "mac_only_encrypted: true\n    unencrypted_suffix"),
    "the rule": ("unencrypted_suffix: _unencrypted", "unencrypted_suffix: a"),
    "two rules": ("unencrypted_suffix", "encrypted_regex: a\n    unencrypted_suffix"),
    "the data key": ("(-----BEGIN.*\n *)YWdl", r"\1YWdm"),
    "no keys": (r"    age:\n(        .*\n)+", ""),
    "no block": (r"sops:\n(.*\n)+", ""),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_file_is_refused_by_both(name: str, tool: Tool) -> None:
    text = sops.encrypt([{"a": "hidden1", "b": "hidden2", "c_unencrypted": 3}], tool.creation(), "yaml")
    changed, count = re.subn(*CHANGES[name], text, count=1, flags=re.MULTILINE)
    assert count == 1
    with pytest.raises(SecretsError) as caught:
        sops.decrypt(changed, "yaml", tool.identities)
    assert "hidden" not in str(caught.value) + caught.value.hint
    done = tool.run("decrypt", tool.write(changed))
    assert done.returncode != 0
    assert done.stdout == ""


def test_what_the_format_does_not_protect_is_taken_by_both(tool: Tool) -> None:
    """A type that fits the text, comments, the list of recipients, and clear values under mac_only_encrypted."""
    rule = Rule(mac_only_encrypted=True)
    data = {Comment(" sealed"): None, "a": "5", "c_unencrypted": 3}
    text = sops.encrypt([data], tool.creation(rule), "yaml")
    text = re.sub("(a: ENC.*)type:str", r"\1type:int", text).replace("c_unencrypted: 3", "c_unencrypted: 4")
    text = re.sub("^#ENC.*", "# by somebody", text).replace(f"recipient: {tool.recipient}", "recipient: somebody")
    assert sops.plain(sops.decrypt(text, "yaml", tool.identities).documents) == [{"a": 5, "c_unencrypted": 4}]
    assert tool.decrypt(text) == {"a": 5, "c_unencrypted": 4}
