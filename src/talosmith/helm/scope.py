"""A template that is ready to run, and what its run shares with those it uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from talosmith.helm.budget import Budget

Statement = Callable[[Any, list[Any], Callable[[str], Any]], None]

_DEEPEST = 1000  # of templates that use templates; Go allows more, but no chart needs it


@dataclass(slots=True)
class Program:
    """One template, ready to run."""

    name: str
    source: str  # the file it stands in
    run: Statement
    variables: int
    empty: bool  # blank: it never takes the place of another of that name


@dataclass(slots=True)
class Scope:
    """What one run shares: the templates that can be used, and how deep it is."""

    templates: dict[str, Program]
    compile: Callable[[str, str], list[Program]]  # of the text that `tpl` is given
    name: str = ""  # the file that is rendered
    depth: int = 0
    budget: Budget = field(default_factory=Budget)

    def execute(self, name: str, data: Any) -> str:
        program = self.templates.get(name)
        if program is None:
            raise LookupError(f'there is no template "{name}"')
        return self.run(program, data)

    def run(self, program: Program, data: Any) -> str:
        if self.depth > _DEEPEST:
            raise LookupError(f'template "{program.name}" uses itself without end')
        out: list[str] = []
        variables: list[Any] = [None] * program.variables
        variables[0] = data
        variables[1] = self
        self.budget.call()
        self.depth += 1
        try:
            program.run(data, variables, out.append)
        finally:
            self.depth -= 1
        return self.budget.write("".join(out))

    def run_text(self, text: str, data: Any) -> str:
        """What `tpl` does: the text as a template, with all templates at hand, and its own ones only inside it."""
        if "{{" not in text:
            return text.replace("<no value>", "")
        programs = self.compile(self.name, text)
        if len(programs) == 1:
            return self.run(programs[0], data).replace("<no value>", "")
        inner = Scope(dict(self.templates), self.compile, self.name, self.depth, self.budget)
        add(inner.templates, programs[1:])
        return inner.run(programs[0], data).replace("<no value>", "")


def add(templates: dict[str, Program], programs: list[Program]) -> None:
    """Define the templates; the last of a name counts, unless it is blank."""
    for program in programs:
        if not program.empty or program.name not in templates:
            templates[program.name] = program
