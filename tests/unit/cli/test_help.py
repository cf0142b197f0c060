"""Help: wherever it is asked for, in 80 columns, with examples that work, in the words of the field."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest
from typer.main import get_command

from talosmith.cli.app import run
from talosmith.cli.commands import COMMANDS, DONE_BY, GROUPS
from talosmith.cli.examples import EXAMPLES
from talosmith.cli.help import command_help
from talosmith.cli.signature import Signature, signature

Talosmith = Callable[..., tuple[int, str, str]]


@pytest.fixture
def talosmith(capsys: pytest.CaptureFixture[str]) -> Talosmith:
    def call(line: str) -> tuple[int, str, str]:
        code = run(shlex.split(line))
        return code, *capsys.readouterr()

    return call


def _all(found: Signature) -> Iterator[Signature]:
    yield found
    for child in found.commands.values():
        yield from _all(child)


def _command(name: str) -> Any:
    return get_command(import_module(COMMANDS[name].module).app)


SIGNATURES = {one.path: one for name in COMMANDS for one in _all(signature(_command(name), name))}


@pytest.mark.parametrize("line", ["", "-h", "--help", "help", "-v --help"])
def test_help_of_talosmith_is_asked_for_in_many_ways(line: str, talosmith: Talosmith) -> None:
    code, out, err = talosmith(line)
    assert (code, err) == (0, "")
    headings = [heading for heading in re.findall(r"^([A-Z]\w+):$", out, re.MULTILINE) if heading in GROUPS]
    assert headings == list(GROUPS)
    assert all(
        re.search(rf"^  {name} +{re.escape(command.summary)}$", out, re.M) for name, command in COMMANDS.items()
    )
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("line", "path"),
    [
        *[(form, "plan") for form in ("plan -h", "plan --help", "help plan", "-h plan", "plan -i x -h")],
        *[(form, "lab") for form in ("lab", "lab -h", "help lab", "-i x lab")],
        *[(form, "lab fault add") for form in ("lab fault add -h", "help lab fault add", "lab fault -i x add -h")],
        ("lab fault", "lab fault"),
        ("help render", "render"),
    ],
)
def test_help_of_a_command_is_asked_for_in_many_ways(line: str, path: str, talosmith: Talosmith) -> None:
    code, out, err = talosmith(line)
    assert (code, err) == (0, "")
    assert re.match(rf"Usage: talosmith {path} [\[A-Z]", out)


@pytest.mark.parametrize(
    ("line", "message", "fix"),
    [
        ("help plon", "no such command: plon", "did you mean `talosmith plan`?"),
        ("help lab machne", "no such command: lab machne", "did you mean `talosmith lab machine`?"),
        ("lab machine lst", "no such command: lab machine lst", "did you mean `talosmith lab machine list`?"),
        ("plan --ou x", "no such option: --ou", "did you mean `--out`? see `talosmith plan --help`"),
        ("show -o jso", "--output: 'jso' is not one of text, json, yaml", "did you mean `json`?"),
        ("lab fault add slo", "KIND: 'slo' is not one of power-loss, hang", "did you mean `slow`?"),
        ("lab fault add slow --by soon", "--by: 'soon' is not a duration", "talosmith lab fault add --help"),
        ("lab start --seed x", "--seed: not a number", "talosmith lab start --help"),
        ("lab machine create cp-1 --tag x", "--tag: 'x' is not KEY=VALUE", "talosmith lab machine create --help"),
        ("init --provider cloud", "--provider: ", "fix: "),
        ("lab machine wipe", "missing MACHINE", "talosmith lab machine wipe w-1 -i clusters/home"),
        ("secrets export", "missing option: --out", "talosmith secrets export --out secrets.yaml"),
        ("plan --log-format xml", "--log-format: 'xml' is not one of text, json", "talosmith --help"),
        ("plan too many", "unexpected extra argument", "talosmith plan --help"),
    ],
)
def test_wrong_usage_names_the_option_and_what_helps(line: str, message: str, fix: str, talosmith: Talosmith) -> None:
    code, out, err = talosmith(line)
    assert (code, out) == (64, "")
    assert err.startswith(f"error: {message}")
    assert fix in err


@pytest.mark.parametrize("path", SIGNATURES)
def test_help_fits_80_columns_and_has_no_python_in_it(path: str) -> None:
    text = command_help(SIGNATURES[path])
    assert max(map(len, text.splitlines())) <= 80
    assert not re.search(r"\b(TEXT|INTEGER|FLOAT|BOOLEAN|UUID|None)\b|\[required\]|<(int|str|float|path)>", text)
    assert "Examples:\n  " in text
    assert all(one.help for one in SIGNATURES[path].parameters), "an option or argument without help"


@pytest.mark.parametrize("path", [path for path, one in SIGNATURES.items() if not one.commands])
def test_each_command_has_examples_that_it_accepts(path: str) -> None:
    examples = EXAMPLES[path]
    assert 1 <= len(examples) <= 3
    for example in examples:
        line = re.sub(r"^source <\((.*)\)$", r"\1", example)
        words = shlex.split(line.rpartition("| ")[2].partition(" > ")[0])
        assert len(example) <= 78
        name, *rest = words[1:]
        _accepts(_command(name), name, rest, path)


def _accepts(command: Any, name: str, arguments: list[str], path: str) -> None:
    """Typer reads the arguments; the command is not run."""
    for word in path.split()[1:]:
        assert arguments[0] == word
        command, arguments = command.commands[word], arguments[1:]
    values = [one for one in arguments if one != "-v"]
    command.make_context(name, values)


def test_no_example_is_of_a_command_that_does_not_exist() -> None:
    assert set(EXAMPLES) <= set(SIGNATURES)


@pytest.mark.parametrize("name", DONE_BY)
def test_commands_of_other_tools_lead_to_what_does_the_same(name: str, talosmith: Talosmith) -> None:
    code, _, err = talosmith(f"{name} --force x")
    assert code == 64
    assert err == f"error: no such command: {name}: {DONE_BY[name].what}\n  fix: {DONE_BY[name].fix}\n"
    tool, *words = shlex.split(DONE_BY[name].fix)
    if tool == "talosmith":
        path = " ".join(word for word in words[:2] if word.islower() and not word.startswith("-"))
        _accepts(_command(words[0]), words[0], words[1:], path)
    else:
        assert tool in ("kubectl", "talosctl")


def test_version_as_text_and_data(talosmith: Talosmith) -> None:
    code, out, _ = talosmith("version")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["talosmith", "Python", "Talos", "Kubernetes"]
    assert talosmith("--version")[1] == out
    data = json.loads(talosmith("version -o json")[1])
    assert data["kind"] == "Version"
    assert data["talos"][-1] in out and data["kubernetes"][0] in out


def test_help_imports_neither_typer_nor_a_command() -> None:
    code = "import sys; from talosmith.cli.app import run; run(['--help']); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"typer", "click", "pydantic", "json", "talosmith.cli.plan"} & set(done.stderr.split())
