"""Documents that the real sops writes we read, and the other way round: all values, rules and comments."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from sops_tool import EVERYTHING, SECOND, VALUES, Tool, comments_of, same

from talosmith import sops
from talosmith.sops import Comment, Rule

RULES = [
    Rule(),
    Rule(mac_only_encrypted=True),
    Rule("unencrypted_suffix", "r"),
    Rule("encrypted_suffix", "a"),
    Rule("encrypted_regex", "^(data|text|day)$"),
    Rule("encrypted_regex", "^(data|text|day)$", True),
    Rule("unencrypted_regex", "^(kind|apiVersion|moment|exponent)$"),
    Rule("unencrypted_regex", "^(kind|apiVersion|moment|exponent)$", True),
    Rule("encrypted_comment_regex", "beside the"),
    Rule("unencrypted_comment_regex", "above data", True),
]


def name_of(rule: Rule) -> str:
    return f"{rule.selection}-{rule.pattern}{'-mac-only' if rule.mac_only_encrypted else ''}"


by_rule = pytest.mark.parametrize("rule", RULES, ids=name_of)


@by_rule
def test_we_open_what_sops_wrote(rule: Rule, tool: Tool) -> None:
    opened = sops.decrypt(tool.encrypt(f"{EVERYTHING}---\n{SECOND}", rule), "yaml", tool.identities)
    assert [sops.plain(document) for document in opened.documents] == [VALUES, {"more": [1, "two"]}]
    assert opened.creation == tool.creation(rule)
    comments = comments_of(opened.documents)
    assert sorted(comments) == sorted(comments_of(sops.parse(f"{EVERYTHING}---\n{SECOND}", "yaml", "a test")))


@by_rule
def test_sops_opens_what_we_wrote(rule: Rule, tool: Tool) -> None:
    documents = sops.parse(f"{EVERYTHING}---\n{SECOND}", "yaml", "a test")
    text = sops.encrypt(documents, tool.creation(rule), "yaml")
    assert tool.decrypt(text) == VALUES
    shown = tool.ok("decrypt", tool.write(text))
    assert "ENC[" not in shown
    again = sops.parse(shown, "yaml", "sops")
    assert [sops.plain(document) for document in again] == [sops.plain(document) for document in documents]
    assert sorted(comments_of(again)) == sorted(comments_of(documents))


def shape(value: Any) -> Any:
    """What is sealed as which type, without comments (a sealed comment of a list may be an item of it)."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items() if not isinstance(key, Comment)}
    if isinstance(value, list):
        shapes = [shape(item) for item in value if not isinstance(item, Comment)]
        return [item for item in shapes if item != "ENC[AES256_GCM,:comment]"]
    return re.sub("data:.*,type", "", value) if isinstance(value, str) and "ENC[" in value else "clear"


@by_rule
def test_both_seal_the_same_values_and_write_the_same_block(rule: Rule, tool: Tool) -> None:
    (theirs,) = sops.parse(tool.encrypt(EVERYTHING, rule), "yaml", "sops")
    mine = sops.encrypt(sops.parse(EVERYTHING, "yaml", "a test"), tool.creation(rule), "yaml")
    (ours,) = sops.parse(mine, "yaml", "ours")
    for document in (theirs, ours):
        for changing in ("age", "mac", "lastmodified"):
            del document["sops"][changing]
    assert theirs.pop("sops") == ours.pop("sops")
    assert shape(theirs) == shape(ours)


@pytest.mark.parametrize("rule", RULES[:8], ids=name_of)
def test_json_both_ways(rule: Rule, tool: Tool) -> None:
    values = json.loads(json.dumps(VALUES)) | {"huge": 2**63, "html": "<a> & \u2028", "float": 1.0, "tiny": 1e-9}
    text = tool.encrypt(json.dumps(values), rule, ".json")
    values["huge"] = float(values["huge"])
    assert sops.decrypt(text, "json", tool.identities).documents == [values]
    assert same(tool.decrypt(sops.encrypt([values], tool.creation(rule), "json"), ".json"), values)


def test_layout_is_the_same_so_that_a_change_is_a_small_difference(tool: Tool) -> None:
    (document,) = sops.parse(EVERYTHING, "yaml", "a test")
    del document["exponent"]  # 1000.0: for us it stays a float, sops writes 1000
    document["data"] = sops.plain(document["data"])  # sops moves sealed comments from beside a value to above it
    path = tool.folder / "layout.yaml"
    sops.save(path, document, tool.creation(Rule("encrypted_regex", "^data$")))
    before = path.read_text().splitlines()
    tool.ok("set", path, '["data"]["password"]', '"other"')
    after = path.read_text().splitlines()
    changed = [line.strip().split(":")[0] for old, line in zip(before, after, strict=True) if old != line]
    assert [name for name in changed if name != "lastmodified"] == ["password", "mac"]
    assert sops.load(path, tool.identities)["data"]["password"] == "other"
