"""Every command prints what its schema says, as JSON and as YAML, in a lab cluster; errors too."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from talosmith.cli.commands import COMMANDS
from talosmith.cli.signature import Signature, signature
from talosmith.providers.lab import lab_name
from talosmith.report.schemas import KINDS, WITHOUT_KIND
from tests.lab.up.addon_folders import own_charts
from tests.lab.up.places import DESTROY, Ended, Here
from tests.output_schemas import assert_output

pytestmark = pytest.mark.slow

TALCONFIG = Path(__file__).parents[2] / "real" / "talhelper" / "homelab" / "talconfig.yaml"


# They read standard input, or need Proxmox VE; their output is compared with its schema in tests/unit/cli.
ELSEWHERE = {"secrets set", "template create", "template list", "template delete"}


def all_commands() -> Iterator[str]:
    """Names of all commands, from the command line's own table."""
    for name, command in COMMANDS.items():
        yield from _leaves(signature(get_command(import_module(command.module).app), name))


def _leaves(found: Signature) -> Iterator[str]:
    if not found.commands:
        yield found.path
    for inner in found.commands.values():
        yield from _leaves(inner)


def test_every_command_has_a_schema() -> None:
    assert sorted(all_commands()) == sorted([*KINDS, *WITHOUT_KIND])
    assert {name.split()[0] for name in (*KINDS, *WITHOUT_KIND)} == set(COMMANDS)


class Outputs:
    """Runs commands with `-o json` and `-o yaml`, and remembers which of them were run."""

    def __init__(self, here: Here) -> None:
        self.here = here
        self.seen: set[str] = set()

    def __call__(self, command: str, *argv: str, code: int = 0, output: str = "json") -> list[Any]:
        ended = self.run(command, *argv, output=output)
        assert ended.code == code, f"{command} {argv}: {ended.said}"
        self.seen.add(command)
        return assert_output(command, ended.out, output, failed=code not in (0, 2))

    def run(self, command: str, *argv: str, output: str) -> Ended:
        alone = command.startswith(("lab", "init", "import", "graph plan", "version")) or "-i" in argv
        inventory = [] if alone else ["-i", str(self.here.folder)]
        return self.here.run("-o", output, *command.split(), *argv, *inventory)

    def both(self, command: str, *argv: str, code: int = 0) -> list[Any]:
        """A command that changes nothing: its YAML says the same as its JSON."""
        found, as_yaml = self(command, *argv, code=code), self(command, *argv, code=code, output="yaml")
        assert [one.keys() for one in found] == [one.keys() for one in as_yaml]
        return found


@pytest.fixture
def outputs(here: Here) -> Outputs:
    here.write(controlplanes=1, workers=1, more=own_charts(here, ["web"]))
    return Outputs(here)


@pytest.mark.real  # for its length alone
def test_every_command_prints_what_its_schema_says(outputs: Outputs, tmp_path: Path) -> None:
    lab, both, files = lab_name(outputs.here.owner), outputs.both, tmp_path
    # Before there is a cluster
    both("plan", code=2)
    assert outputs("plan", "--out", str(files / "plan.json"), code=2)[0]["steps"]
    both("version")
    both("versions", "-i", str(outputs.here.folder))
    both("validate")
    both("config migrate")
    both("show")
    both("show", "--origin")
    both("secrets show")
    both("secrets show", "--reveal")
    both("render configs")
    both("render image")
    for number, output in enumerate(("json", "yaml")):
        new = str(files / f"new{number}")
        outputs("render configs", "--out", new, output=output)
        outputs("render nocloud", "--out", new, output=output)
        outputs("talosconfig", "--out", f"{new}/talosconfig", output=output)
        outputs("kubeconfig", "--out", f"{new}/kubeconfig", output=output)
        outputs("secrets export", "--out", f"{new}/secrets.yaml", output=output)
    both("diff", str(files / "new0"))
    both("secrets rekey")
    both("graph topology")
    both("graph topology", "--out", str(files / "topology.svg"))
    both("graph plan", str(files / "plan.json"))
    both("doctor")
    both("runs")
    # The run
    started, *_, finished, result = outputs("up", "--yes")
    assert (started["type"], finished["type"], result["kind"]) == ("run-started", "run-finished", "Result")
    assert (result["outcome"], result["exit_code"], result["cluster"]) == ("done", 0, "mine")
    assert result["steps"]["done"] == result["steps"]["total"] == len(started["data"]["steps"]) > 0
    (finished, result) = both("up", "--yes")
    assert (finished["data"]["outcome"], result["outcome"]) == ("unchanged", "unchanged")
    # The cluster
    both("plan")
    both("status")
    both("health")
    both("doctor")
    both("runs")
    both("run show")
    assert len(both("run show", "--events")) > 2
    both("addons list")
    both("addons list", "--all")
    both("addons show", "web")
    both("addons diff")
    both("addons pull")
    both("addons bundle", "--out", str(files / "charts.tar"))
    both("node console", "cp-1")
    both("node services", "cp-1")
    assert both("node logs", "cp-1", "kubelet")[0]["service"] == "kubelet"
    assert both("node dmesg", "cp-1")
    assert both("events", "--tail", "5")
    for output in ("json", "yaml"):
        outputs("support", "-O", str(files / f"support-{output}.zip"), output=output)
    both("diff")
    both("plan", "--destroy", code=2)
    both("lab status")
    both("lab status", lab)
    both("lab machine list", "--lab", lab)
    for verb in ("power-off", "power-on", "reboot"):
        both(f"lab machine {verb}", "w-1", "--lab", lab)
    both("lab fault add", "slow", "w-1", "--by", "10ms", "--lab", lab)
    both("lab fault list", "--lab", lab)
    both("lab fault clear", "--lab", lab)
    # The end
    result = outputs(*DESTROY)[-1]
    assert (result["kind"], result["operation"], result["outcome"]) == ("Result", "destroy", "done")
    assert both(*DESTROY)[-1]["outcome"] == "unchanged"
    for number, output in enumerate(("json", "yaml")):
        outputs("lab start", lab, output=output)
        outputs("lab machine create", f"x-{number}", "--lab", lab, "--off", output=output)
        outputs("lab machine wipe", f"x-{number}", "--lab", lab, output=output)
        outputs("lab machine delete", f"x-{number}", "--lab", lab, output=output)
        outputs("lab stop", lab, output=output)
    # Other inventories
    for number, output in enumerate(("json", "yaml")):
        new, imported = str(files / f"init{number}"), str(files / f"import{number}")
        outputs("init", new, "--no-input", output=output)
        outputs("secrets init", "-i", new, output=output)
        outputs("import talconfig", str(TALCONFIG), "--into", imported, output=output)
        outputs("secrets import", "-i", imported, "--from", str(files / "new0" / "secrets.yaml"), output=output)
        virtual, module = str(files / f"virtual{number}"), str(files / f"terraform{number}")
        outputs("init", virtual, "--no-input", "--provider", "libvirt", output=output)
        outputs("secrets init", "-i", virtual, output=output)
        outputs("render terraform", "-i", virtual, "--out", module, output=output)
    assert outputs.seen == set(KINDS) - ELSEWHERE


@pytest.mark.parametrize("command", sorted(KINDS))
def test_errors_are_objects_of_kind_error(command: str, outputs: Outputs) -> None:
    """Also where the command line itself is wrong."""
    for output in ("json", "yaml"):
        ended = outputs.run(command, "--no-such-option", output=output)
        error, *rest = assert_output(command, ended.out, output, failed=True)
        assert (ended.code, error["kind"], error["code"], error["exit_code"]) == (64, "Error", "usage", 64)
        assert [one["kind"] for one in rest] == (["Result"] if command in ("up", "destroy") else [])


@pytest.mark.parametrize(
    "command", ["plan", "up", "destroy", "status", "health", "doctor", "show", "validate", "diff"]
)
def test_a_wrong_inventory_is_an_error_with_all_problems(command: str, outputs: Outputs) -> None:
    outputs.here.write(more="netwrok: {}\nfoo: 1\n")
    argv = [str(outputs.here.root)] if command == "diff" else []
    first, *rest = outputs(command, *argv, code=65)
    assert {"unknown key `netwrok`", "unknown key `foo`"} <= {one["message"] for one in first["problems"]}
    assert [(one["kind"], one["outcome"]) for one in rest] == (
        [("Result", "failed")] if command in ("up", "destroy") else []
    )


def test_a_refused_run_ends_with_an_error_and_a_result(outputs: Outputs) -> None:
    error, result = outputs("up", code=64)  # neither --yes nor a terminal
    assert (error["code"], result["outcome"], result["run"], result["exit_code"]) == ("usage", "failed", None, 64)
