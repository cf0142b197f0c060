"""Seals and opens whole documents: which values, under which path, and what goes into the MAC.

A value is bound to its path: the keys above it, each followed by a colon. Places in a list are not part of the path.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from talosmith.errors import SecretsError
from talosmith.sops.cipher import Cipher, is_sealed
from talosmith.sops.rule import Rule
from talosmith.sops.scalars import checked, from_text, text_of, type_of
from talosmith.sops.tree import Comment, Document, place_of
from talosmith.yaml.go_words import Scalar

_MAC_ONLY_ENCRYPTED = hashlib.sha256(b"sops").digest()  # so that the two kinds of MAC can never be equal
_DEEPEST = 200


def seal(documents: Sequence[Document], rule: Rule, cipher: Cipher) -> tuple[list[Document], str]:
    """The documents with every value that the rule names sealed, and the MAC of their content."""
    walk = _Sealing(rule, cipher)
    sealed = walk.all(documents)
    if walk.in_clear and not walk.in_cipher:
        raise SecretsError(
            f"{rule.selection} {rule.pattern!r} seals no value: the file would be plain text",
            hint="correct the rule in .sops.yaml, or do not encrypt this file",
        )
    return sealed


def unseal(documents: Sequence[Document], rule: Rule, cipher: Cipher) -> tuple[list[Document], str]:
    """The documents in clear, and the MAC that their content has."""
    return _Opening(rule, cipher).all(documents)


@dataclass
class _Walk(ABC):
    """Goes through documents in order. `matched` says whether the rule's pattern was met on the way down."""

    rule: Rule
    cipher: Cipher
    _hash: Any = field(default_factory=hashlib.sha512)

    def __post_init__(self) -> None:
        rule = self.rule
        self._matches: Callable[[str], bool] = rule.matches
        self._by_comment = rule.by_comment
        self._seals_matches = rule.seals_matches
        self._mac_only = rule.mac_only_encrypted
        if self._mac_only:
            self._hash.update(_MAC_ONLY_ENCRYPTED)

    def all(self, documents: Sequence[Document]) -> tuple[list[Document], str]:
        try:
            changed = [self._mapping(document, "", False, 0) for document in documents]
        except UnicodeEncodeError:
            raise SecretsError(
                "a key or value holds half of a surrogate pair, which no text file can", hint="correct it"
            ) from None
        return changed, str(self._hash.hexdigest()).upper()

    def _mapping(self, mapping: Document, path: str, matched: bool, depth: int) -> Document:
        result: Document = {}
        above = False  # whether a comment since the last entry matched
        for key, value in mapping.items():
            if isinstance(key, Comment):
                inside, above = self._by_comments(key, matched, above)
                result[self.comment(key, path, inside)] = None
                continue
            if not isinstance(key, str):
                raise SecretsError(
                    f"{place_of(path)} has a key that is a {type(key).__name__}, not a string",
                    hint="put the key in quotes; SOPS takes string keys only",
                )
            met = matched or above or (not self._by_comment and self._matches(key))
            changed = self._value(value, f"{path}{key}:", met, depth)
            if isinstance(changed, Comment):
                raise SecretsError(
                    f"{place_of(f'{path}{key}')} holds a sealed comment instead of a value",
                    hint="restore the file from version control",
                )
            result[key] = changed
            above = False
        return result

    def _sequence(self, sequence: Sequence[Any], path: str, matched: bool, depth: int) -> list[Any]:
        result: list[Any] = []
        above = False
        last = max((at for at, item in enumerate(sequence) if not isinstance(item, Comment)), default=-1)
        for at, item in enumerate(sequence):
            if isinstance(item, Comment):
                inside, above = self._by_comments(item, matched, above)
                if (changed := self.comment_in_list(item, path, inside, at > last)) is not None:
                    result.append(changed)
            else:
                result.append(self._value(item, path, matched or above, depth))
                above = False
        return result

    def _value(self, value: Any, path: str, matched: bool, depth: int) -> Any:
        if isinstance(value, (dict, list, tuple)):
            if depth > _DEEPEST:
                raise SecretsError(f"{place_of(path)} is nested too deep", hint=f"{_DEEPEST} levels are read")
            if isinstance(value, dict):
                return self._mapping(value, path, matched, depth + 1)
            return self._sequence(value, path, matched, depth + 1)
        if value is None:
            return None  # neither sealed nor part of the MAC
        return self.leaf(value, path, matched is self._seals_matches)

    def _by_comments(self, comment: Comment, matched: bool, above: bool) -> tuple[bool, bool]:
        """Whether the comment itself is sealed, and whether a comment above the next entry has matched by now."""
        if not self._by_comment:
            return matched is self._seals_matches, False
        now = above or self._matches(comment.text)
        if self._seals_matches:
            return matched or above, now  # the comment that asks for sealing stays readable
        return not (matched or now), now

    def _count(self, text: str, sealed: bool) -> None:
        if sealed or not self._mac_only:
            self._hash.update(text.encode())

    @abstractmethod
    def leaf(self, value: Any, path: str, sealed: bool) -> Any: ...

    @abstractmethod
    def comment(self, comment: Comment, path: str, sealed: bool) -> Comment: ...

    def comment_in_list(self, comment: Comment, path: str, sealed: bool, at_end: bool) -> Comment | str | None:
        return self.comment(comment, path, sealed)


class _Sealing(_Walk):
    in_clear = False  # whether a value was left in clear …
    in_cipher = False  # … and whether one was sealed

    def leaf(self, value: Any, path: str, sealed: bool) -> Scalar:
        known = checked(value, path)
        text = text_of(known)
        self._count(text, sealed)
        if not text:
            return known
        if not sealed:
            self.in_clear = True
            return known
        self.in_cipher = True
        return self.cipher.seal(text, type_of(known), path)

    def comment(self, comment: Comment, path: str, sealed: bool) -> Comment:
        if not sealed or not comment.text:
            return comment
        text = self.cipher.seal(comment.text, "comment", path or ":")
        if self._by_comment and not self._seals_matches and self._matches(text):
            raise SecretsError(
                f"unencrypted_comment_regex {self.rule.pattern!r} matches a sealed comment",
                hint="make the pattern narrower: the file could not be opened again",
            )
        return Comment(text, comment.inline)

    def comment_in_list(self, comment: Comment, path: str, sealed: bool, at_end: bool) -> Comment | str | None:
        """SOPS writes a sealed comment of a list as one more item, and reads an empty comment as an empty item."""
        if sealed and not comment.text:
            return None
        changed = self.comment(comment, path, sealed)
        # Under a comment rule an item between the comment and its value would cut the two apart.
        return changed.text if sealed and (at_end or not self._by_comment) else changed


class _Opening(_Walk):
    def leaf(self, value: Any, path: str, sealed: bool) -> Any:
        if sealed:
            return self._opened(value, path)
        self._count(text_of(checked(value, path)), sealed)
        return value

    def _opened(self, value: Any, path: str) -> Any:
        if value == "" and isinstance(value, str):
            return value
        if not isinstance(value, str) or not is_sealed(value):
            raise SecretsError(
                f"{place_of(path)} should be sealed but is in clear",
                hint="it was added without SOPS; use `sops edit`, or remove it",
            )
        text, type_name = self.cipher.open(value, path)
        if type_name == "comment":
            return Comment(text)
        try:
            opened = from_text(text, type_name)
        except ValueError:
            raise SecretsError(
                f"{place_of(path)} is sealed as {type_name}, and its content is not that",
                hint="restore the file from version control",
            ) from None
        self._count(text_of(opened), True)
        return opened

    def comment(self, comment: Comment, path: str, sealed: bool) -> Comment:
        """SOPS also takes comments in clear, and never counts them; so do we. Each may belong to a level above."""
        if not sealed or not is_sealed(comment.text):
            return comment
        levels = path.split(":")[:-1]
        for upto in range(len(levels), -1, -1):
            bound_to = ":".join(levels[:upto]) + ":"
            try:
                return Comment(self.cipher.open(comment.text, bound_to)[0], comment.inline)
            except SecretsError:
                continue
        return comment
