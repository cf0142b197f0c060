"""Words, patterns and documents that nobody chose by hand, both ways between us and the real sops."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from sops_tool import Tool, comments_of, same

from talosmith import sops
from talosmith.errors import SecretsError
from talosmith.sops import Comment, Rule
from talosmith.sops.regex import compiled
from talosmith.sops.scalars import type_of
from talosmith.sops.tree import settled
from talosmith.sops.yaml_writer import write_yaml
from talosmith.yaml.go_words import resolve_for_sops as resolve


def words() -> list[str]:
    chosen = random.Random(7)  # noqa: S311
    made = {"".join(chosen.choices("0123456789", k=chosen.randint(1, 22))) for _ in range(150)}
    for alphabet in (
        "0123456789_.-+eE",
        "01_-+bx",
        "01278_-+oOxX",
        "0123456789abcdefxX_",
        ".infNaIF-+",
        "nulNUL~trueTFfalsonyYO",
    ):
        made |= {"".join(chosen.choices(alphabet, k=chosen.randint(1, 8))) for _ in range(400)}

    def number(most: int) -> str:
        return f"{chosen.randint(0, most):0{chosen.randint(1, 2)}}"

    for _ in range(600):
        date = f"{chosen.choice(['2024', '1999', '0000', '202'])}-{number(13)}-{number(31)}"
        clock = f"{number(24)}:{number(60)}:{number(60)}"
        zone = chosen.choice(["Z", "", "+00:00", "-07:30", "+23:59", "+2", " Z"])
        fraction = chosen.choice(["", ".5", ",25", ".120", ".1234567891", "."])
        made |= {date, f"{date}{chosen.choice('Tt ')}{clock}{fraction}{zone}"}
    return sorted(word for word in made if not word.startswith(("- ", "---", "...")) and word != "-")


def test_words_mean_the_same(tool: Tool) -> None:
    tried = [word for word in words() if not (type(resolve(word)) is int and resolve(word) >= 2**63)]  # type: ignore[operator]
    assert len(tried) > 2500
    text = tool.encrypt("".join(f"w{number}: {word}\n" for number, word in enumerate(tried)))
    sealed = sops.parse(text, "yaml", "sops")[0]
    opened = sops.decrypt(text, "yaml", tool.identities).documents[0]
    for number, word in enumerate(tried):
        meaning, theirs = resolve(word), sealed[f"w{number}"]
        if meaning is None:
            assert theirs is None, word
        else:
            assert theirs.endswith(f",type:{type_of(meaning)}]"), word
            assert repr(opened[f"w{number}"]) == repr(meaning), word


@pytest.mark.parametrize(
    "text",
    ["a: 9223372036854775808", "1: a", "null: a", "2024-01-02: a", "- a", "text", "a: 1\na: 2", "a: [", "a: *x"],
)
def test_what_sops_refuses_to_encrypt_we_refuse_too(text: str, tool: Tool, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    assert tool.run("encrypt", "--age", tool.recipient, path).returncode != 0
    with pytest.raises(SecretsError):
        sops.encrypt_file(path, tool.creation())
    assert path.read_text() == text


PATTERNS = [
    "^(data|stringData)$",
    "data",
    "(?i)secret",
    "a(?i)b|c",
    "(a(?i)b|c)d",
    r"^\d+x$",
    r"^\w+$",
    r"\bkey\b",
    "[[:alpha:]]{2,3}[^[:digit:]]",
    "^[a&&b]$",
    "^[]a]$",
    "^[^]a]$",
    "^[a[]$",
    r"^[\d\-x]+$",
    r"^\Qa.b\E$",
    r"^\x61\x{62}$",
    "a{,2}",
    "^a{2}?$",
    "^(?P<n>a)(?<m>b)$",
    "^(tls|ca).*?$",
]
KEYS = [
    *(
        "data",
        "stringData",
        "metadata",
        "data2",
        "Secret",
        "mySECRET",
        "aB",
        "ab",
        "C",
        "Ab",
        "A",
        "aBd",
        "Cd",
        "abD",
    ),
    *(
        "12x",
        "१२x",
        "a_1",
        "é",
        "a-key",
        "akey",
        "abx",
        "1a",
        "a",
        "&",
        "b",
        "c",
        "]",
        "[",
        "1-x",
        "a.b",
        "axb",
        "AB",
    ),
    *("a{,2}", "aa", "tls.key", "ca", "xca"),
]


def test_regular_expressions_match_the_same(tool: Tool) -> None:
    path = tool.write(json.dumps(dict.fromkeys(KEYS, "x")), ".json")
    for pattern in PATTERNS:
        text = tool.ok("encrypt", "--age", tool.recipient, "--encrypted-regex", pattern, path)
        theirs = {key for key, value in json.loads(text).items() if key != "sops" and value != "x"}
        assert theirs == {key for key in KEYS if compiled(pattern).search(key)}, pattern
        assert theirs, f"{pattern} is not tested by any key"


def opens_again(text: str) -> bool:
    """Whether sops can read what it writes for this text; see `test_sops_cannot_open_some_files_of_its_own`."""
    return not (text[:1].isspace() and len(text.splitlines()) > 1)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=10).filter(opens_again)
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number or 0.0)  # sops loses -0.0 in clear
    | texts
    | st.sampled_from(
        ["yes", "017", "1_0", "2024-01-02", "a: b", "# x", "- y", "x\ny\n", "'", '"', "|", "? x", "%", "<<"]
    )
)
trees = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(texts | st.sampled_from(["e", "x_e"]), inner, max_size=4)
    ),
    max_leaves=10,
)
batches = st.lists(
    st.dictionaries(texts.filter(lambda key: key != "sops"), trees, max_size=4), min_size=8, max_size=30
)
slow = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
rules = st.sampled_from(
    [Rule(), Rule(mac_only_encrypted=True), Rule("encrypted_regex", "e$"), Rule("unencrypted_suffix", "e")]
)


@slow
@given(documents=batches, rule=rules)
def test_sops_opens_any_document_of_ours(documents: list[dict[str, Any]], rule: Rule, tool: Tool) -> None:
    numbered: dict[str, Any] = {str(number): document for number, document in enumerate(documents)}
    numbered |= {"e": "sealed", "f": "sealed"}  # one of them by every rule
    assert same(tool.decrypt(sops.encrypt([numbered], tool.creation(rule), "yaml")), numbered)


def test_sops_cannot_open_some_files_of_its_own(tool: Tool) -> None:
    """Lines of which the first is indented, in the clear and in a list: sops gives them an indentation they lack."""
    text = tool.encrypt(write_yaml([{"e": "sealed", "a": {"b": [" indented\nnot"]}}]), Rule("encrypted_regex", "e$"))
    with pytest.raises(SecretsError, match="is not YAML"):
        sops.decrypt(text, "yaml", tool.identities)
    with pytest.raises(AssertionError, match="did not find expected"):
        tool.ok("decrypt", tool.write(text))


@slow
@given(documents=batches, rule=rules)
def test_we_open_any_document_of_sops(documents: list[dict[str, Any]], rule: Rule, tool: Tool) -> None:
    text = tool.encrypt(write_yaml(documents), rule)
    assert same(sops.decrypt(text, "yaml", tool.identities).documents, documents)


comments = st.builds(Comment, st.text("abc", min_size=1, max_size=5).map(lambda text: f" {text}"), st.booleans())
commented = st.recursive(
    st.sampled_from(["x", 1, None, "two\nlines\n", "a #b", 1.5]),
    lambda inner: (
        st.lists(inner | comments, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b", "c_unencrypted"]) | comments, inner, max_size=4)
    ),
    max_leaves=10,
)
commented_batches = st.lists(
    st.dictionaries(st.sampled_from(["a", "b", "c_unencrypted"]) | comments, commented, min_size=1, max_size=4),
    min_size=8,
    max_size=30,
)


@slow
@given(documents=commented_batches)
@example(documents=[{"a": None}, {"a": [[], Comment(" b")]}, {"c_unencrypted": "x"}, {Comment(" a"): None}])
def test_comments_are_opened_by_both(documents: list[dict[Any, Any]], tool: Tool) -> None:
    documents = [
        settled({key: None if isinstance(key, Comment) else item for key, item in document.items()})
        for document in documents
    ]
    documents.append({"a": "sealed"})  # a file with values, but none to seal, is refused by us on purpose
    tool.ok("decrypt", tool.write(sops.encrypt(documents, tool.creation(), "yaml")))  # says so if it cannot open one
    opened = sops.decrypt(tool.encrypt(write_yaml(documents)), "yaml", tool.identities).documents
    assert sops.plain(opened) == sops.plain(documents)
    assert set(comments_of(opened)) <= set(comments_of(documents))  # go-yaml loses some, but none is left sealed
