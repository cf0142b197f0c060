"""Regular expressions of SOPS rules. They are Go's (RE2); Python's `re` reads some of them in another sense.

A pattern that means something else here than there would leave a value in clear that `sops` seals. So each pattern is
rewritten piece by piece, and what cannot be said in both is refused by name.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from talosmith.errors import SecretsError

_CLASSES: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_REPEAT = re.compile(r"\{(\d+)(?:,(\d*))?\}")
_GROUP = re.compile(r"\((?!\?)|\(\?:|\(\?P?<(\w+)>")
_FLAGS = re.compile(r"\(\?([is]+)(:|\))")
_HEX = re.compile(r"\\x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,6})\})")
_CLASS_NAME = re.compile(r"\[:(\w+):\]")
_MOST_REPEATS = 1000


@lru_cache(maxsize=64)
def compiled(pattern: str) -> re.Pattern[str]:
    """Python's form of a Go pattern; meant for `.search`, as SOPS looks anywhere in the text."""
    translation = _Translation(pattern)
    try:
        return re.compile(translation.run(), re.ASCII)
    except (re.error, OverflowError):
        raise translation.refused("it is not well formed") from None


class _Translation:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.out: list[str] = []
        # For each open group, the flag groups `(?i)` opened in it: they end where it ends, and start again after `|`.
        self.flags: list[list[str]] = [[]]

    def refused(self, why: str) -> SecretsError:
        return SecretsError(
            f"the regular expression {self.pattern!r} of a SOPS rule is not understood: {why}",
            hint="use what Go's regexp package knows; lookaround and backreferences are not in it",
        )

    def run(self) -> str:
        while self.at < len(self.pattern):
            char = self.pattern[self.at]
            if char == "\\":
                self.out.append(self._escape(in_class=False))
            elif char == "[":
                self.out.append(self._class())
            elif char == "(":
                self._open_group()
            else:
                self._single(char)
        if len(self.flags) != 1:
            raise self.refused("a group is not closed")
        return "".join(self.out) + ")" * len(self.flags[0])

    def _single(self, char: str) -> None:
        repeat = _REPEAT.match(self.pattern, self.at)
        if char in "*+?" or repeat:
            self._repeat(repeat[0] if repeat else char)
            return
        self.at += 1
        if char == ")":
            if len(self.flags) == 1:
                raise self.refused("a group is closed that was not opened")
            self.out.append(")" * (len(self.flags.pop()) + 1))
        elif char == "|":
            self.out.append(")" * len(self.flags[-1]) + "|" + "".join(self.flags[-1]))
        elif char == "$":
            self.out.append(r"\Z")  # Python's `$` also matches before a last line break
        else:
            self.out.append(char if char in "^." else re.escape(char))

    def _repeat(self, operator: str) -> None:
        if any(int(count) > _MOST_REPEATS for count in re.findall(r"\d+", operator)):
            raise self.refused(f"more than {_MOST_REPEATS} repetitions")
        self.at += len(operator)
        if self.pattern[self.at : self.at + 1] == "?":
            operator += "?"
            self.at += 1
        following = self.pattern[self.at : self.at + 1]
        if (following and following in "*+?") or _REPEAT.match(self.pattern, self.at):
            raise self.refused("a repetition of a repetition")
        self.out.append(operator)

    def _open_group(self) -> None:
        if flags := _FLAGS.match(self.pattern, self.at):
            opening = f"(?{flags[1]}:"
            if flags[2] == ":":
                self.flags.append([])
            else:
                self.flags[-1].append(opening)
            self.out.append(opening)
            self.at = flags.end()
        elif group := _GROUP.match(self.pattern, self.at):
            self.flags.append([])
            self.out.append(f"(?P<{group[1]}>" if group[1] else group[0])
            self.at = group.end()
        else:
            raise self.refused(f"`{self.pattern[self.at : self.at + 4]}` is not supported")

    def _escape(self, *, in_class: bool) -> str:
        char = self.pattern[self.at + 1 : self.at + 2]
        if code := _HEX.match(self.pattern, self.at):
            self.at = code.end()
            return f"\\U{int(code[1] or code[2], 16):08x}"
        if char == "Q" and not in_class:
            end = self.pattern.find(r"\E", self.at)
            literal = self.pattern[self.at + 2 : end if end >= 0 else None]
            self.at = end + 2 if end >= 0 else len(self.pattern)
            return re.escape(literal)
        self.at += 2
        if char and (char in "dDwWsSafnrtv" or (char in "bBA" and not in_class)):
            return f"\\{char}"
        if char == "z" and not in_class:
            return r"\Z"
        if char.isascii() and not char.isalnum() and char:
            return re.escape(char)
        raise self.refused(f"`\\{char}` is not supported")

    def _class(self) -> str:
        """A `[…]`. Characters that only Python gives a meaning there are escaped."""
        self.at += 1
        out = "["
        if self.pattern[self.at : self.at + 1] == "^":
            self.at += 1
            out += "^"
        first = True
        while self.at < len(self.pattern):
            char = self.pattern[self.at]
            if char == "]" and not first:
                self.at += 1
                return out + "]"
            first = False
            if char == "\\":
                out += self._escape(in_class=True)
            elif self.pattern.startswith("[:", self.at):
                name = _CLASS_NAME.match(self.pattern, self.at)
                if not name or name[1] not in _CLASSES:
                    raise self.refused("an unknown class name in `[: :]`")
                out += _CLASSES[name[1]]
                self.at = name.end()
            else:
                out += f"\\{char}" if char in "[]&|~^" else char
                self.at += 1
        raise self.refused("a `[` is not closed")
