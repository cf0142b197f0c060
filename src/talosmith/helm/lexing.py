"""Cuts a template into the tokens that gotpl's parser reads, by one regular expression.

gotpl's own lexer walks over every character, which is most of the time that a chart takes. What this one does not
know (text beyond ASCII inside an action, and every mistake) is left to gotpl's: it returns None for the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from gotpl.parse.lexer import _COMPLEX_PATTERN, _KEYWORDS, _NUMBER_PATTERN
from gotpl.parse.tokens import TokenKind

_SPACE = " \t\r\n"
_TRIMS = {f"-{space}" for space in _SPACE}
_TOKEN = re.compile(
    r"""
      (?P<END>[ \t\r\n]+-\}\}|\}\})
    | (?P<SPACE>[ \t\r\n]+)
    | (?P<FIELD>\.[A-Za-z_][A-Za-z0-9_]*)
    | (?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<VARIABLE>\$[A-Za-z0-9_]*)
    | (?P<STRING>"(?:[^"\\\n]|\\[^\n])*")
    | (?P<NUMBER>(?:[0-9]|[+-][0-9.]|\.[0-9])[A-Za-z0-9.+_-]*)
    | (?P<LEFT_PAREN>\()
    | (?P<RIGHT_PAREN>\))
    | (?P<PIPE>\|)
    | (?P<DECLARE>:=)
    | (?P<ASSIGN>=)
    | (?P<DOT>\.)
    | (?P<RAW_STRING>`[^`]*`)
    | (?P<CHAR_CONSTANT>'(?:[^'\\\n]|\\[^\n])*')
    | (?P<CHAR>[!#-&(-_a-~])
    """,
    re.VERBOSE,
)
_COMMENT = re.compile(r"/\*.*?\*/([ \t\r\n]-)?\}\}", re.DOTALL)
_WORDS = {**_KEYWORDS, "true": TokenKind.BOOL, "false": TokenKind.BOOL}
_KINDS = {kind.name: kind for kind in TokenKind}


class Token(NamedTuple):
    """As gotpl's, but quick to make. `start` and `end` are offsets in UTF-8."""

    kind: TokenKind
    value: str
    start: int
    end: int
    line: int


def lex(source: str, functions: Collection[str]) -> tuple[Token, ...] | None:
    """The tokens of a template, or None if gotpl's lexer has to look at it."""
    if not source.isascii():
        try:
            source = source.encode().decode("latin-1")  # one character for each byte, so that offsets are right
        except UnicodeEncodeError:
            return None
    tokens: list[Token] = []
    place, line = 0, 1
    while (start := source.find("{{", place)) >= 0:
        trims = source[start + 2 : start + 4] in _TRIMS
        end = start
        if trims:
            while end > place and source[end - 1] in _SPACE:
                end -= 1
        if end > place:
            tokens.append(Token(TokenKind.TEXT, _restored(source[place:end]), place, end, line))
        line += source.count("\n", place, start)
        inside = start + 4 if trims else start + 2
        comment = _COMMENT.match(source, inside)
        if comment is not None:
            following, trims_right = comment.end(), comment[1] is not None
            line += source.count("\n", start, following)
        elif source.startswith("/*", inside):
            return None
        else:
            tokens.append(Token(TokenKind.LEFT_DELIMITER, "{{", start, start + 2, line))
            line += source.count("\n", start, inside)
            found = _action(source, inside, line, functions, tokens)
            if found is None:
                return None
            following, line, trims_right = found
        place = following
        if trims_right:
            while place < len(source) and source[place] in _SPACE:
                place += 1
            line += source.count("\n", following, place)
    if place < len(source):
        tokens.append(Token(TokenKind.TEXT, _restored(source[place:]), place, len(source), line))
        line += source.count("\n", place)
    tokens.append(Token(TokenKind.EOF, "", len(source), len(source), line))
    return tuple(tokens)


def _action(
    source: str, place: int, line: int, functions: Collection[str], tokens: list[Token]
) -> tuple[int, int, bool] | None:
    """Adds the tokens up to the end of an action; the place behind it, the line there, and whether it trims."""
    depth = 0
    match_at = _TOKEN.match
    while (match := match_at(source, place)) is not None:
        name, value, end = str(match.lastgroup), match.group(), match.end()
        if name == "END":
            if depth:
                return None
            line += value.count("\n")
            tokens.append(Token(TokenKind.RIGHT_DELIMITER, "}}", end - 2, end, line))
            return end, line, len(value) > 2
        kind = _KINDS[name]
        if name == "IDENTIFIER":
            kind = _WORDS.get(value, kind)
            if value in ("break", "continue") and value in functions:
                kind = TokenKind.IDENTIFIER
        elif name == "LEFT_PAREN":
            depth += 1
        elif name == "RIGHT_PAREN":
            depth -= 1
            if depth < 0:
                return None
        elif name == "NUMBER" and not value.isdigit():
            if _COMPLEX_PATTERN.fullmatch(value):
                kind = TokenKind.COMPLEX
            elif not _NUMBER_PATTERN.fullmatch(value):
                return None
        elif not value.isascii():
            value = _restored(value)
        tokens.append(Token(kind, value, place, end, line))
        if "\n" in value:
            line += value.count("\n")
        place = end
    return None


def _restored(text: str) -> str:
    return text if text.isascii() else text.encode("latin-1").decode()
