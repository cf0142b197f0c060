"""Turns parsed templates into nested Python functions, with the semantics of Go's text/template.

gotpl parses; its own machine is not used: it takes a missing value for an empty one where Go stops with an error, and
stops where Go compares with nil. That cannot be changed from outside, for both are at the heart of it.

Each expression is a function of dot and the variables; each statement takes the output as well. Variables are known
when a template is compiled, so they are places in a list: 0 is `$`, 1 the `Scope` of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gotpl.parse import nodes
from gotpl.runtime.values import number_value

from talosmith.helm.errors import TemplateError
from talosmith.helm.expressions import (
    Expression,
    call_function,
    call_method,
    follow,
    logical,
    printed,
    range_over,
)
from talosmith.helm.parsing import parse
from talosmith.helm.scope import Program, Statement


@dataclass(slots=True)
class Compiler:
    """Compiles with one set of functions, and keeps what it has compiled."""

    functions: Mapping[str, Callable[..., Any]]
    _known: dict[tuple[str, str], list[Program]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return len(self._known)

    def compile(self, name: str, text: str) -> list[Program]:
        """The template of that text, and behind it the templates that it defines."""
        known = self._known.get((name, text))
        if known is None:
            known = self._known[name, text] = self._compile(name, text)
        return known

    def _compile(self, name: str, text: str) -> list[Program]:
        if "{{" not in text:
            return [Program(name, name, lambda dot, variables, write: write(text), 2, not text.strip())]
        parsed = parse(name, text, self.functions)
        lines = _Lines(text)
        bodies = [(name, parsed.root), *((one.name, one.body) for one in parsed.definitions)]
        return [_Body(self.functions, name, lines).program(title, body) for title, body in bodies]


class _Lines:
    """Line numbers of byte offsets, found only when there is an error to tell of."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __getitem__(self, offset: int) -> int:
        return self._text.encode()[:offset].count(b"\n") + 1


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class _Body:
    """Compiles one template: keeps track of its variables."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]], source: str, lines: _Lines) -> None:
        self.functions = functions
        self.source = source
        self.lines = lines
        self.visible: list[dict[str, int]] = [{"$": 0}]
        self.left: dict[str, int] = {}  # Go lets an else part name what the other part declared; it is never set
        self.count = 2

    def program(self, name: str, body: nodes.ListNode) -> Program:
        empty = all(isinstance(node, nodes.TextNode) and not node.text.strip() for node in body.nodes)
        run = self.block(body)
        return Program(name, self.source, run, self.count, empty)

    # Statements

    def block(self, body: nodes.ListNode) -> Statement:
        self.visible.append({})
        statements = tuple(self.statement(node) for node in body.nodes)
        self.left.update(self.visible.pop())
        if len(statements) == 1:
            return statements[0]

        def run(dot: Any, variables: list[Any], write: Callable[[str], Any]) -> None:
            for statement in statements:
                statement(dot, variables, write)

        return run

    def statement(self, node: nodes.TemplateNode) -> Statement:
        match node:
            case nodes.TextNode(text=text):
                return lambda dot, variables, write: write(text)
            case nodes.ActionNode():
                return self.action(node)
            case nodes.IfNode() | nodes.WithNode():
                return self.branch(node)
            case nodes.RangeNode():
                return self.range(node)
            case nodes.TemplateCallNode() | nodes.BlockNode():
                return self.use(node)
            case nodes.BreakNode():
                return _stop(_Break)
            case nodes.ContinueNode():
                return _stop(_Continue)
        raise AssertionError(node)

    def action(self, node: nodes.ActionNode) -> Statement:
        evaluate = self.pipeline(node.pipeline)
        located = self.located(node.start)
        if node.pipeline.declarations:

            def declare(dot: Any, variables: list[Any], write: Callable[[str], Any]) -> None:
                try:
                    evaluate(dot, variables)
                except Exception as problem:
                    raise located(problem) from None

            return declare

        def act(dot: Any, variables: list[Any], write: Callable[[str], Any]) -> None:
            try:
                value = evaluate(dot, variables)
                write(value if type(value) is str else printed(value))
            except Exception as problem:
                raise located(problem) from None

        return act

    def branch(self, node: nodes.IfNode | nodes.WithNode) -> Statement:
        self.visible.append({})  # what the condition declares is seen in both parts
        evaluate = self.pipeline(node.pipeline)
        then = self.block(node.body)
        otherwise = self.block(node.else_body) if node.else_body else None
        self.visible.pop()
        located = self.located(node.start)
        moves_dot = isinstance(node, nodes.WithNode)

        def decide(dot: Any, variables: list[Any], write: Callable[[str], Any]) -> None:
            try:
                value = evaluate(dot, variables)
            except Exception as problem:
                raise located(problem) from None
            if value:
                then(value if moves_dot else dot, variables, write)
            elif otherwise:
                otherwise(dot, variables, write)

        return decide

    def range(self, node: nodes.RangeNode) -> Statement:
        self.visible.append({})
        pipeline = node.pipeline
        evaluate = self.commands(pipeline.commands)
        places = self.places(pipeline)
        body = self.block(node.body)
        otherwise = self.block(node.else_body) if node.else_body else None
        self.visible.pop()
        located = self.located(node.start)
        value_place = places[-1] if places else None
        key_place = places[0] if len(places) == 2 else None

        def loop(dot: Any, variables: list[Any], write: Callable[[str], Any]) -> None:
            try:
                pairs = range_over(evaluate(dot, variables))
            except Exception as problem:
                raise located(problem) from None
            if not pairs:
                if otherwise:
                    otherwise(dot, variables, write)
                return
            for key, value in pairs:
                if value_place is not None:
                    variables[value_place] = value
                if key_place is not None:
                    variables[key_place] = key
                try:
                    body(value, variables, write)
                except _Break:
                    break
                except _Continue:
                    continue

        return loop

    def use(self, node: nodes.TemplateCallNode | nodes.BlockNode) -> Statement:
        name = node.name
        evaluate = self.pipeline(node.pipeline) if node.pipeline else None
        located = self.located(node.start)

        def run(dot: Any, variables: list[Any], write: Callable[[str], Any]) -> None:
            try:
                write(variables[1].execute(name, evaluate(dot, variables) if evaluate else None))
            except Exception as problem:
                raise located(problem) from None

        return run

    def located(self, offset: int) -> Callable[[Exception], Exception]:
        """Says where an error happened; the innermost place comes first."""
        source, lines = self.source, self.lines

        def located(problem: Exception) -> Exception:
            if isinstance(problem, TemplateError):
                return problem.used_at(source, lines[offset])
            if isinstance(problem, RecursionError):
                return TemplateError("templates are nested too deep", template=source, line=lines[offset])
            return TemplateError(str(problem) or type(problem).__name__, template=source, line=lines[offset])

        return located

    # Expressions

    def pipeline(self, node: nodes.PipeNode) -> Expression:
        evaluate = self.commands(node.commands)
        if not node.declarations:
            return evaluate
        (place,) = self.places(node)

        def assign(dot: Any, variables: list[Any]) -> Any:
            value = variables[place] = evaluate(dot, variables)
            return value

        return assign

    def places(self, node: nodes.PipeNode) -> list[int]:
        if node.is_assignment:
            return [self.place(variable.name) for variable in node.declarations]
        places = []
        for variable in node.declarations:
            self.visible[-1][variable.name] = self.count
            places.append(self.count)
            self.count += 1
        return places

    def place(self, name: str) -> int:
        for names in reversed(self.visible):
            if name in names:
                return names[name]
        if name in self.left:
            return self.left[name]
        raise TemplateError(f"undefined variable {name}", template=self.source, line=1)

    def commands(self, commands: tuple[nodes.CommandNode, ...]) -> Expression:
        evaluate = self.command(commands[0], None)
        for command in commands[1:]:
            evaluate = self.command(command, evaluate)
        return evaluate

    def command(self, node: nodes.CommandNode, piped: Expression | None) -> Expression:
        first, *others = node.arguments
        arguments = [self.term(one) for one in others]
        if piped is not None:
            arguments.append(piped)
        match first:
            case nodes.IdentifierNode(name=name):
                return self.call(name, arguments)
            case nodes.FieldNode(fields=fields) if arguments:
                return call_method(lambda dot, variables: dot, fields, arguments)
            case nodes.VariableNode(name=name, fields=fields) if arguments:
                place = self.place(name)
                return call_method(lambda dot, variables: variables[place], fields, arguments)
            case nodes.ParenthesizedNode(pipeline=pipeline, fields=fields) if arguments:
                return call_method(self.pipeline(pipeline), fields, arguments)
        if arguments:
            return _refuse("can't give argument to non-function")
        return self.term(first)

    def call(self, name: str, arguments: list[Expression]) -> Expression:
        if name in ("and", "or"):
            return logical(name, arguments)
        if name == "include" and len(arguments) == 2:
            title, data = arguments
            return lambda dot, variables: variables[1].execute(title(dot, variables), data(dot, variables))
        if name == "tpl" and len(arguments) == 2:
            text, data = arguments
            return lambda dot, variables: variables[1].run_text(text(dot, variables), data(dot, variables))
        return call_function(name, self.functions[name], arguments)

    def term(self, node: nodes.TermNode) -> Expression:
        match node:
            case nodes.DotNode():
                return lambda dot, variables: dot
            case nodes.FieldNode(fields=fields):
                return follow(None, fields)
            case nodes.VariableNode(name=name, fields=fields):
                place = self.place(name)
                if not fields:
                    return lambda dot, variables: variables[place]
                return follow(place, fields)
            case nodes.StringNode(value=value) | nodes.BoolNode(value=value):
                return lambda dot, variables: value
            case nodes.CharacterNode(value=character):
                code = ord(character)
                return lambda dot, variables: code
            case nodes.NumberNode(text=text) if not text.endswith("i"):
                number = number_value(text, is_complex=False)
                return lambda dot, variables: number
            case nodes.NilNode():
                return lambda dot, variables: None
            case nodes.IdentifierNode(name=name):
                return self.call(name, [])
            case nodes.ParenthesizedNode(pipeline=pipeline, fields=fields):
                evaluate = self.pipeline(pipeline)
                return call_method(evaluate, fields, []) if fields else evaluate
        return _refuse("complex numbers have no place here")


def _refuse(reason: str) -> Expression:
    """An error where the place is reached, and only there: Go, too, finds it when it runs the template."""

    def refuse(dot: Any, variables: list[Any]) -> Any:
        raise LookupError(reason)

    return refuse


def _stop(signal: type[Exception]) -> Statement:
    def stop(dot: Any, variables: list[Any], write: Callable[[str], Any]) -> None:
        raise signal

    return stop
