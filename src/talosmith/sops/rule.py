"""Which values of a document are sealed: exactly one of six rules, and how far the MAC reaches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, get_args

from talosmith.errors import SecretsError
from talosmith.sops.regex import compiled

Selection = Literal[
    "unencrypted_suffix",
    "encrypted_suffix",
    "unencrypted_regex",
    "encrypted_regex",
    "unencrypted_comment_regex",
    "encrypted_comment_regex",
]
SELECTIONS: Final[tuple[Selection, ...]] = get_args(Selection)


@dataclass(frozen=True)
class Rule:
    """What `pattern` matches, in a key on the way to a value or in a comment above it, is sealed or left in clear."""

    selection: Selection = "unencrypted_suffix"
    pattern: str = "_unencrypted"
    mac_only_encrypted: bool = False

    @property
    def seals_matches(self) -> bool:
        return self.selection.startswith("encrypted")

    @property
    def by_comment(self) -> bool:
        return "comment" in self.selection

    @cached_property
    def matches(self) -> Callable[[str], bool]:
        if self.selection.endswith("suffix"):
            pattern = self.pattern
            return lambda text: text.endswith(pattern)
        search = compiled(self.pattern).search
        return lambda text: search(text) is not None

    def fields(self) -> dict[str, Any]:
        """As the keys of a `sops` block."""
        return {self.selection: self.pattern} | ({"mac_only_encrypted": True} if self.mac_only_encrypted else {})


def rule_from(fields: Mapping[str, Any], source: str) -> Rule:
    """The rule that a `sops` block or a creation rule states. Both use the same keys."""
    given = [(name, fields[name]) for name in SELECTIONS if fields.get(name)]
    if len(given) > 1:
        names = " and ".join(name for name, _ in given)
        raise SecretsError(f"{source} has {names}; SOPS takes one of them", hint="keep one")
    mac_only = fields.get("mac_only_encrypted") in (True, "true", "True", 1)  # old files have it as text
    if not given:
        return Rule(mac_only_encrypted=mac_only)
    name, pattern = given[0]
    if not isinstance(pattern, str):
        raise SecretsError(f"{name} in {source} is not a string", hint="put it in quotes")
    rule = Rule(name, pattern, mac_only)
    _ = rule.matches  # a pattern that is not understood is reported now, not in the middle of a document
    return rule
