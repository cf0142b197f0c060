"""The real `sops` for the tests of this folder, and one document with everything in it."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from talosmith import sops
from talosmith.sops import Comment, Creation, Identities, Rule, Timestamp

UNOPENED = 'comment="ENC['  # in what sops says about a comment that it could not open


@dataclass
class Tool:
    """sops with a home and a key of its own."""

    sops: Path
    age: Path
    keygen: Path
    folder: Path
    key_file: Path
    recipient: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, *arguments: str | Path, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.sops, *arguments],
            capture_output=True,
            text=True,
            env=self.environment | more,
            cwd=cwd or self.folder,
            check=False,
        )

    def ok(self, *arguments: str | Path, cwd: Path | None = None, **more: str) -> str:
        done = self.run(*arguments, cwd=cwd, **more)
        assert done.returncode == 0, done.stderr
        assert UNOPENED not in done.stderr
        return done.stdout

    def encrypt(self, text: str, rule: Rule | None = None, suffix: str = ".yaml") -> str:
        rules = self.folder / "rules.yaml"  # only there can everything be said; flags lack mac_only_encrypted
        rules.write_text(json.dumps({"creation_rules": [{"age": self.recipient} | (rule or Rule()).fields()]}))
        return self.ok("--config", rules, "encrypt", self.write(text, suffix))

    def decrypt(self, text: str, suffix: str = ".yaml") -> Any:
        """What sops finds in an encrypted text with one document."""
        return json.loads(self.ok("decrypt", "--output-type", "json", self.write(text, suffix)))

    def write(self, text: str, suffix: str = ".yaml") -> Path:
        path = self.folder / f"case{suffix}"
        path.write_text(text)
        return path

    @property
    def identities(self) -> Identities:
        return sops.find_identities(self.key_file)

    def creation(self, rule: Rule | None = None) -> Creation:
        return Creation((self.recipient,), rule or Rule())


def comments_of(value: Any) -> list[str]:
    if isinstance(value, Comment):
        return [value.text]
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in comments_of(key) + comments_of(item)]
    return [text for item in value for text in comments_of(item)] if isinstance(value, list) else []


def same(found: Any, expected: Any) -> bool:
    """Equality with what sops wrote: its floats without a fraction look like integers, with zeros for lost digits."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if type(expected) is float:
        return type(found) in (int, float) and float(found) == expected
    return type(found) is type(expected) and found == expected


EVERYTHING = """\
# about the file

apiVersion: v1 # beside
text: hello
empty: ""
nothing: null
number: -17
big: 9223372036854775807
octal: 017
grouped: 1_000
fraction: 0.25
exponent: 1e3
yes: true
word: yes
clock: 1:30
day: 2024-02-29
moment: 2024-01-02T03:04:05.123456789+02:00
multi: |
  two
  lines # not a comment
quoted: "with # and: colon"
unicode: "é☃𝄞\\u0001"
# above data
data: # beside the key
  # first in data
  password: hidden # beside password
  list:
    - one # beside one
    # above two
    - two
    - [3, [4.5, {deep: five}], [], {}]
    # last in the list
  # last in data
clear_unencrypted:
  # in clear
  a: 1.5
  b: [x, 2, null, ""]
anchored: &x {k: v}
alias: *x
"""
VALUES: dict[str, Any] = {
    "apiVersion": "v1",
    "text": "hello",
    "empty": "",
    "nothing": None,
    "number": -17,
    "big": 9223372036854775807,
    "octal": 15,
    "grouped": 1000,
    "fraction": 0.25,
    "exponent": 1000.0,
    "yes": True,
    "word": "yes",
    "clock": "1:30",
    "day": Timestamp("2024-02-29T00:00:00Z"),
    "moment": Timestamp("2024-01-02T03:04:05.123456789+02:00"),
    "multi": "two\nlines # not a comment\n",
    "quoted": "with # and: colon",
    "unicode": "é☃𝄞\x01",
    "data": {"password": "hidden", "list": ["one", "two", [3, [4.5, {"deep": "five"}], [], {}]]},
    "clear_unencrypted": {"a": 1.5, "b": ["x", 2, None, ""]},
    "anchored": {"k": "v"},
    "alias": {"k": "v"},
}
SECOND = "# second document\nmore: [1, two]\n"
