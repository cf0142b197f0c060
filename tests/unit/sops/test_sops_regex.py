"""Go's regular expressions in Python: the same matches, or a refusal."""

from __future__ import annotations

import pytest

from talosmith.errors import SecretsError
from talosmith.sops.regex import compiled


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("^(data|stringData)$", ["data", "stringData"], ["metadata", "data2", "data\n"]),
        ("data", ["metadata", "data2"], ["dat"]),
        ("(?i)secret", ["Secret", "mySECRET"], ["sekret"]),
        ("a(?i)b|c", ["aB", "ab", "C"], ["Ab", "A"]),
        ("(a(?i)b|c)d", ["aBd", "Cd"], ["abD"]),
        ("(?i:x)y", ["Xy"], ["XY"]),
        ("(?s)^a.b$", ["a\nb"], ["ab"]),
        ("^a.b$", ["axb"], ["a\nb"]),
        (r"\.sops\.(ya?ml|json)$", ["x.sops.yaml", "x.sops.yml"], ["x.sops.yamlx", "xsops.yaml"]),
        (r"^\d+$", ["12"], ["१२", "1x"]),
        (r"^\w+$", ["a_1"], ["é"]),
        (r"\bkey\b", ["a key"], ["akey"]),
        ("[[:alpha:]]{2,3}[^[:digit:]]", ["abx", "ab-"], ["1a"]),
        ("^[a&&b]$", ["a", "&", "b"], ["c"]),
        ("^[]a]$", ["]", "a"], ["b"]),
        ("^[^]a]$", ["b"], ["]"]),
        ("^[a[]$", ["["], ["]"]),
        (r"^[\d\-x]+$", ["1-x"], ["y"]),
        (r"\Aab\z", ["ab"], ["ab\n"]),
        (r"^\Qa.b\E$", ["a.b"], ["axb"]),
        (r"^\Qa.b", ["a.b"], ["axb"]),
        (r"^\x41\x{42}$", ["AB"], ["ab"]),
        ("a{,2}", ["a{,2}"], ["aa"]),
        ("a{x", ["a{x"], ["aa"]),
        ("^(?P<n>a)(?<m>b)$", ["ab"], ["a"]),
        ("^a{2}?$", ["aa"], ["a"]),
        ("^(tls|ca).*?$", ["tls.key", "ca"], ["xca"]),
        ("", ["anything", ""], []),
        ("^a b#c$", ["a b#c"], ["abc"]),
    ],
)
def test_it_matches_what_go_matches(pattern: str, matching: list[str], other: list[str]) -> None:
    search = compiled(pattern).search
    assert [text for text in matching if not search(text)] == []
    assert [text for text in other if search(text)] == []


@pytest.mark.parametrize(
    "pattern",
    [
        "(?=a)",
        "(?!a)",
        "(?<=a)b",
        "(?<!a)b",
        "(?>a)",
        "(?m)^a$",
        "(?U)a+",
        r"(a)\1",
        r"\p{Greek}",
        r"\Z",
        r"\8",
        "a**",
        "a*+",
        "a++",
        "a{2}{3}",
        "a{1001}",
        "*a",
        "(a",
        "a)",
        "[a",
        "[[:nonsense:]]",
        "a\\",
        r"[\b]",
    ],
)
def test_what_go_refuses_or_reads_otherwise_is_refused(pattern: str) -> None:
    with pytest.raises(SecretsError, match="regular expression") as caught:
        compiled(pattern)
    assert repr(pattern) in str(caught.value)
    assert "Go" in caught.value.hint
