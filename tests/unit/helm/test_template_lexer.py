"""Our lexer gives the tokens of gotpl's, or leaves the template to it."""

from __future__ import annotations

import pytest
from gotpl.errors import TemplateSyntaxError
from gotpl.parse.lexer import lex as lex_by_gotpl
from hypothesis import given
from hypothesis import strategies as st

from talosmith.helm import lexing
from talosmith.helm.functions import function_map

KNOWN = [
    "", "text", "a\n{{ .x }}\nb", "{{- .a -}} b", "a \n {{- .a -}} \n b", "{{-}}", "{{ - }}", "{{-.x}}", "{{ .x-}}",
    "{{ .x\n -}}\n\nlate {{ .y }}", "{{/* c */}}x", "a {{- /* c\n */ -}} b", "{{ /* no comment */}}", "{{/* open",
    "{{/* c */ }}", "{{- /* c */ -}}\n{{ .x }}", '{{ "a\\"b" | quote }}', "{{ `raw\n}}` }}\n{{ .x }}", "{{ 'c' }}",
    '{{ "a\n" }}', '{{ "a\\\n" }}', "{{ 1 1.5 -3 +2 0x1f 1_000 1e3 1i 1+2i .5 }}", "{{ 1..2 }}", "{{ 1-2 }}",
    "{{ if and (eq .a 1) (not .b) }}x{{ else if .c }}y{{ else }}z{{ end }}", "{{ ( }}", "{{ ) }}", "{{ (.a }}",
    "{{ $x := .a.b.c }}{{ $x = 1 }}{{ $ }}{{ $.Values }}", "{{ range $k, $v := .m }}{{ break }}{{ end }}",
    "{{ (include \"a\" .).b }}", "{{ .a | b -}}\n", "{{ true false nil }}", "{{ x", "{{", "}}", "{{ .ü }}", "{{ ü }}",
    "ü {{ .x }} ☃\n{{ \"ü\" }}{{ `☃` }}", "{{ 1ü }}", "{{ % ! ~ }}", "{{ \x07 }}", "{{ \xa0 }}", "{{ .\xa0 }}",
    "{{ a:b }}", "{{ a :=b }}", "{{_a}}{{ ._b }}{{ .1 }}", "{{ ''' }}", "\ud800 {{ .x }}", "{{.x}}{{.y}}",
    "{ {{ .x }} }", "{{ .x -}} \ud7ff {{- .y }}", "{{-\n.x\n-}}",
]  # fmt: skip
PIECES = [
    "{{", "}}", "{{-", "-}}", "{{- ", " -}}", " ", "\n", ".a", "$b", "x", '"s"', "`r`", "'", "(", ")", "|", ":=",
    "=", "-", "1", "1.5", "/*", "*/", "ü", "☃", ",", "\\", "end", "true",
]  # fmt: skip


def same(text: str) -> bool:
    """Whether both agree, or ours leaves it to gotpl's."""
    ours = lexing.lex(text, function_map())
    if ours is None:
        return True
    try:
        theirs = [
            (one.kind, one.value, one.start, one.end, one.line)
            for one in lex_by_gotpl(text, functions=function_map())
        ]
    except TemplateSyntaxError:
        return False
    return [tuple(one) for one in ours] == theirs


@pytest.mark.parametrize("text", KNOWN, ids=repr)
def test_known_templates_have_the_same_tokens(text: str) -> None:
    assert same(text)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_any_template_has_the_same_tokens(text: str) -> None:
    assert same(text)


def test_what_charts_hold_is_lexed_by_ours() -> None:
    """Else it would be right, but slow."""
    for text in (
        'ü {{ .Values.x | default "ü" | nindent 4 }} ☃',
        "{{- range $i := until 3 }}{{ add1 $i }}{{- end }}",
    ):
        assert lexing.lex(text, function_map()) is not None
