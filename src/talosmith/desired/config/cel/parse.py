"""The Common Expression Language, parsed: disk and link selectors are written in it.

An expression becomes nested tuples: `("lit", type, text)`, `("name", name)`, `("select", value, field)`,
`("call", function, arguments)`, `("method", value, function, arguments)`, `("list", items)`, `("map", pairs)`.
Operators are calls whose function is the operator.
"""

from __future__ import annotations

import re
from typing import Any

Node = tuple[Any, ...]

_STRING = (
    r"""(?:[rR]?(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'))"""
)
_TOKEN = re.compile(
    rf"""(?P<space>(?:\s|//[^\n]*)+)
    |(?P<float>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<uint>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
    |(?P<int>0x[0-9a-fA-F]+|[0-9]+)
    |(?P<bytes>(?:[bB][rR]?|[rR][bB])(?={_STRING}){_STRING})
    |(?P<string>{_STRING})
    |(?P<name>[_a-zA-Z][_a-zA-Z0-9]*)
    |(?P<mark>\|\||&&|<=|>=|==|!=|[-+*/%<>!?:.,()\[\]{{}}])""",
    re.VERBOSE | re.DOTALL,
)
_RESERVED = frozenset({
    "as", "break", "const", "continue", "else", "for", "function", "if", "import", "in", "let", "loop", "namespace",
    "package", "return", "var", "void", "while",
})  # fmt: skip
_LITERALS = {"true": "bool", "false": "bool", "null": "null"}
_LEVELS = (("||",), ("&&",), ("<", "<=", ">=", ">", "==", "!=", "in"), ("+", "-"), ("*", "/", "%"))


class CelError(ValueError):
    """Not an expression, or one that does not fit its place."""


def parse(text: str) -> Node:
    parser = _Parser(text)
    node = parser.expression()
    if parser.kind != "end":
        raise CelError("goes on where it should end")
    return node


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        position = 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise CelError(f"has a character that does not belong there, at {position + 1}")
            position = match.end()
            if match.lastgroup != "space":
                self._tokens.append((str(match.lastgroup), match[0]))
        self._tokens.append(("end", ""))
        self._next = 0

    @property
    def kind(self) -> str:
        return self._tokens[self._next][0]

    def _peek(self, *marks: str) -> str:
        kind, text = self._tokens[self._next]
        return text if kind in ("mark", "name") and text in marks else ""

    def _take(self, *marks: str) -> str:
        found = self._peek(*marks)
        self._next += bool(found)
        return found

    def _need(self, mark: str) -> None:
        if not self._take(mark):
            raise CelError(f"lacks a {mark}")

    def expression(self) -> Node:
        condition = self._binary(0)
        if not self._take("?"):
            return condition
        yes = self._binary(0)
        self._need(":")
        return ("call", "?:", [condition, yes, self.expression()])

    def _binary(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while operator := self._take(*_LEVELS[level]):
            left = ("call", operator, [left, self._binary(level + 1)])
        return left

    def _unary(self) -> Node:
        if operator := self._take("!", "-"):
            return ("call", f"unary{operator}", [self._unary()])
        return self._member()

    def _member(self) -> Node:
        node = self._primary()
        while mark := self._take(".", "["):
            optional = bool(self._take("?"))
            if mark == "[":
                node = ("call", "[?]" if optional else "[]", [node, self.expression()])
                self._need("]")
                continue
            name = self._name()
            if self._take("("):
                node = ("method", node, name, self._until(")"))
            else:
                node = ("select?" if optional else "select", node, name)
        return node

    def _name(self) -> str:
        kind, text = self._tokens[self._next]
        if kind != "name" or text in _RESERVED or text in _LITERALS:
            raise CelError("lacks a name")
        self._next += 1
        return text

    def _primary(self) -> Node:
        kind, text = self._tokens[self._next]
        if kind in ("int", "uint", "float", "string", "bytes"):
            self._next += 1
            if kind in ("int", "uint") and _whole(text.rstrip("uU")) >= 1 << (63 if kind == "int" else 64):
                raise CelError("has a number that is too big")
            return ("lit", "double" if kind == "float" else kind, text)
        if kind == "name" and text in _LITERALS:
            self._next += 1
            return ("lit", _LITERALS[text], text)
        if self._take("("):
            node = self.expression()
            self._need(")")
            return node
        if self._take("["):
            return ("list", self._until("]"))
        if self._take("{"):
            return ("map", self._pairs())
        self._take(".")
        name = self._name()
        return ("call", name, self._until(")")) if self._take("(") else ("name", name)

    def _until(self, end: str) -> list[Node]:
        items: list[Node] = []
        while not self._take(end):
            items.append(self.expression())
            if not self._take(","):
                self._need(end)
                break
        return items

    def _pairs(self) -> list[tuple[Node, Node]]:
        pairs: list[tuple[Node, Node]] = []
        while not self._take("}"):
            key = self.expression()
            self._need(":")
            pairs.append((key, self.expression()))
            if not self._take(","):
                self._need("}")
                break
        return pairs


def _whole(text: str) -> int:
    return int(text, 16 if text.startswith("0x") else 10)
