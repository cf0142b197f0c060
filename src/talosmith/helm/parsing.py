"""Parses templates with gotpl's lexer and parser, and adds what its parser does not know.

Go lets fields follow the name of a function (`now.Year`, or by mistake `merge.Values.x`, which only fails where it is
run); gotpl 0.1.0 takes that for a syntax error.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from gotpl.errors import TemplateSyntaxError
from gotpl.parse import nodes
from gotpl.parse.lexer import lex
from gotpl.parse.parser import DEFAULT_LIMITS, _Parser
from gotpl.parse.semantic import validate_template
from gotpl.parse.tokens import Token, TokenKind

from talosmith.helm import lexing
from talosmith.helm.errors import TemplateError


def parse(name: str, text: str, functions: Collection[str]) -> nodes.ParsedTemplate:
    """The template, and the templates that it defines."""
    try:
        tokens: Any = lexing.lex(text, functions)
        if tokens is None:
            tokens = tuple(lex(text, functions=functions))
        parsed = _WithChains(text, tokens, name, DEFAULT_LIMITS).parse_document()
        validate_template(text, parsed, functions=functions)
    except TemplateSyntaxError as problem:
        raise TemplateError(str(problem).partition(": ")[2], template=name, line=problem.line) from None
    return parsed


class _WithChains(_Parser):
    """The three short methods below do what gotpl's do, but are called so often that it shows."""

    def skip_spaces(self) -> bool:
        start = self.index
        while self.tokens[self.index].kind is TokenKind.SPACE:
            self.index += 1
        return self.index != start

    def expect(self, kinds: TokenKind | Iterable[TokenKind]) -> Token:
        token = self.tokens[self.index]
        if token.kind is not kinds:
            return super().expect(kinds)
        self.index += 1
        return token

    def unquote_go(self, token: Token) -> str:
        return super().unquote_go(token) if "\\" in token.value else token.value[1:-1]

    def parse_term(self) -> nodes.TermNode:
        term = super().parse_term()
        if not isinstance(term, nodes.IdentifierNode) or self.peek().kind is not TokenKind.FIELD:
            return term
        call = nodes.CommandNode((term,), term.start, term.end)
        pipeline = nodes.PipeNode((), False, (call,), term.start, term.end)
        fields, end = self.collect_following_fields(term.end)
        return nodes.ParenthesizedNode(pipeline, fields, term.start, end)
