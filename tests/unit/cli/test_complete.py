"""Completion: what is offered where, in a real shell, and how fast."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from talosmith.cli.command_tree import FILE, find_command
from talosmith.cli.commands import COMMANDS
from talosmith.cli.complete import candidates, print_candidates
from talosmith.engine.journal import Journal
from talosmith.events import Event
from tools.command_tree import generated

ROOT = Path(__file__).parents[3]
TALOSMITH = Path(sys.executable).with_name("talosmith")
INVENTORY = (
    "cluster_name: dev\ntalos_version: v1.13.9\nkubernetes_version: v1.36.3\ncontrolplane: 1\nworkers: {workers}\n"
)
LIMIT = 0.150  # seconds, the median


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("state", "cache", "config"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def offered(*words: str) -> list[str]:
    return [value for value, _ in candidates(list(words))]


def test_the_table_of_commands_is_current() -> None:
    assert FILE.read_text(encoding="utf-8") == generated(), "run `python tools/command_tree.py`"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["va"], ["validate"]),
        (["lab", ""], ["fault", "machine", "start", "status", "stop"]),
        (["lab", "machine", "p"], ["power-off", "power-on"]),
        (["help", "lab", "fa"], ["fault"]),
        (["show", "--o"], ["--origin", "--output"]),
        (["show", "-o", "json", "--o"], ["--origin"]),
        (["render", "configs", "-n", "a", "--no"], ["--node"]),  # repeatable
        (["--ver"], ["--verbose", "--version"]),
        (["plan", "--verb"], ["--verbose"]),
        (["show", "-o", "j"], ["json"]),
        (["show", "--output=j"], ["--output=json"]),
        (["show", "--output", "=", "j"], ["json"]),  # as bash splits it
        (["show", "--output", "="], ["text", "json", "yaml"]),
        (["-o", ""], ["text", "json", "yaml"]),
        (["plan", "--log-format", ""], ["text", "json"]),
        (["lab", "fault", "add", "kube-t"], ["kube-time-out"]),
        (["lab", "start", "--clock", ""], ["instant", "fast", "realistic"]),
        (["init", "--provider", "li"], ["libvirt"]),
        (["completion", "z"], ["zsh"]),
        (["plan", "-i", ""], [":folders"]),
        (["up", ""], [":files"]),
        (["run", "show", "--timeline", ""], [":files"]),
        (["plan", ""], []),
        (["nonsense", ""], []),
        (["lab", "status", ""], []),  # no labs
    ],
)
def test_what_is_offered(words: list[str], expected: list[str]) -> None:
    assert offered(*words) == expected


@pytest.mark.parametrize("name", COMMANDS)
def test_options_of_every_command_are_offered(name: str) -> None:
    def check(path: list[str]) -> None:
        command, _ = find_command(path)
        for inner in command.commands:
            check([*path, inner])
        if not command.commands:
            long = {option for option in command.options if option.startswith("--")}
            assert long | {"--help", "--verbose", "--log-format"} == set(offered(*path, "--"))

    check([name])


def test_nodes_follow_the_inventory(home: Path) -> None:
    file = home / "cluster.yaml"
    file.write_text(INVENTORY.format(workers=1))
    assert offered("render", "configs", "-n", "") == ["cp-1", "w-1"]
    assert offered("node", "console", "w") == ["w-1"]
    file.write_text(INVENTORY.format(workers=12))
    assert len(offered("node", "console", "w")) == 12
    (home / "other").mkdir()
    (home / "other" / "cluster.yaml").write_text("extends: ../\nworkers: 3\n")
    assert offered("-i", "other", "node", "console", "w") == ["w-1", "w-2", "w-3"]
    file.write_text(INVENTORY.format(workers="{count: 1}").replace("controlplane: 1", "controlplane: 3"))
    assert offered("node", "console", "-i", "other", "cp") == ["cp-1", "cp-2", "cp-3"]  # an edit of what it extends
    assert offered("node", "console", "cp-1", "") == []


def test_addons_follow_the_inventory(home: Path) -> None:
    file = home / "cluster.yaml"
    file.write_text(INVENTORY.format(workers=1) + "addons: {metrics-server: true, web: {manifests: ./web}}\n")
    assert offered("addons", "show", "") == ["metrics-server", "web", "talos-ccm"]
    assert offered("addons", "diff", "w") == ["web"]
    assert offered("up", "--take-over", "m") == ["metrics-server"]
    assert offered("up", "--prune", "") == ["crds", "volumes", "claims"]


def test_a_wrong_inventory_offers_nothing_and_prints_nothing(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "cluster.yaml").write_text("controlplane: [\n")
    assert print_candidates(["node", "console", ""]) == 1
    assert tuple(capsys.readouterr()) == ("", "")


def test_environments(home: Path) -> None:
    for name in ("dev", "prod"):
        (home / "inventory" / name).mkdir(parents=True)
        (home / "inventory" / name / "cluster.yaml").write_text(INVENTORY.format(workers=1))
    assert offered("plan", "-e", "") == ["dev", "prod"]
    assert offered("-e", "p") == ["prod"]
    assert offered("plan", "-i", "inventory/dev", "-e", "") == ["dev", "prod"]
    assert offered("-e", "prod", "node", "console", "") == ["cp-1", "w-1"]


def test_runs_newest_first(tmp_path: Path) -> None:
    with Journal(tmp_path / "state" / "talosmith" / "clusters" / "dev-1", write=True) as journal:
        for at, operation in ((1.0, "up"), (2.0, "destroy")):
            data = {"operation": operation, "cluster": "dev", "plan": {}, "run": f"run-{operation}"}
            journal.listener(Event(kind="run-started", at=at, data=data))
            journal.listener(
                Event(kind="run-finished", at=at + 0.5, data={"outcome": "done", "done": 0, "failed": 0, "left": 0})
            )
    assert candidates(["run", "show", ""]) == [("run-destroy", "destroy dev"), ("run-up", "up dev")]


def test_little_is_imported(home: Path) -> None:
    (home / "cluster.yaml").write_text(INVENTORY.format(workers=1))
    code = (
        "import sys; sys.argv[1:] = ['__complete', 'node', 'console', '']; from talosmith.__main__ import main\n"
        "try: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    )
    for _ in range(2):  # the second time, names of nodes are in the cache
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["cp-1", "controlplane", "w-1", "worker"]
    assert not {"typer", "click", "pydantic", "yaml", "talosmith.inventory"} & set(done.stderr.split())


@pytest.mark.slow
def test_completion_takes_less_than_150_ms(home: Path) -> None:
    (home / "cluster.yaml").write_text(INVENTORY.format(workers=1))

    def took(command: list[str]) -> float:
        started = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        return time.perf_counter() - started

    for words in (["pl"], ["plan", "--"], ["node", "console", ""], ["run", "show", ""], ["lab", "status", ""]):
        took([str(TALOSMITH), "__complete", *words])  # fills the cache
        pairs = [
            (took([str(TALOSMITH), "__complete", *words]), took([sys.executable, "-c", "import json"]))
            for _ in range(7)
        ]
        ours, bare = (statistics.median(column) for column in zip(*pairs, strict=True))
        # On a machine that is busy with other things even an empty Python is slow: then it is the measure.
        assert ours < max(LIMIT, 5 * bare), f"{words}: {ours * 1000:.0f} ms, Python alone {bare * 1000:.0f} ms"


def _bash(script: str) -> str:
    environment = {**os.environ, "PATH": f"{TALOSMITH.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "--norc", "-c", f"source <(talosmith completion bash)\n{script}"],
        capture_output=True, text=True, env=environment, check=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("talosmith va", ["validate"]),
        ("talosmith lab machine power-", ["power-off", "power-on"]),
        ("talosmith node console ''", ["cp-1", "w-1"]),
        ("talosmith show -o ''", ["text", "json", "yaml"]),
        ("talosmith show --output = j", ["json"]),
        ("talosmith plan -i sub", ["sub folder"]),
    ],
)
def test_bash_completes(words: str, expected: list[str], home: Path) -> None:
    """The real bash, with the function that it calls at Tab and the variables that it sets for it."""
    (home / "cluster.yaml").write_text(INVENTORY.format(workers=1))
    (home / "sub folder").mkdir()
    (home / "sub file").touch()
    shown = "_talosmith; printf '%s\\n' \"${COMPREPLY[@]}\""
    script = f"COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); {shown}"
    assert _bash(script).splitlines() == expected


def test_bash_completes_at_the_press_of_tab(home: Path) -> None:
    """An interactive bash in a terminal: keys go in, and the completed line is what is run."""
    import pty

    environment = {**os.environ, "PATH": f"{TALOSMITH.parent}:{os.environ['PATH']}", "PS1": "", "TERM": "dumb"}
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], environment)  # noqa: S606
    try:
        os.write(terminal, b"source <(talosmith completion bash); echo read''y\n")
        _until(terminal, b"ready")
        os.write(terminal, b"echo typed: talosmith; talosmith vali\t--hel\t > out; echo don''e\n")
        _until(terminal, b"done")
    finally:
        os.write(terminal, b"exit\n")
        os.waitpid(pid, 0)
        os.close(terminal)
    assert (home / "out").read_text().startswith("Usage: talosmith validate")


def _until(terminal: int, wanted: bytes) -> None:
    import select

    seen, end = b"", time.monotonic() + 60
    while wanted not in seen:
        assert time.monotonic() < end, seen
        if select.select([terminal], [], [], 1)[0]:
            seen += os.read(terminal, 4096)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_asks_talosmith(shell: str) -> None:
    done = subprocess.run([TALOSMITH, "completion", shell], capture_output=True, text=True, check=True)
    assert "__complete" in done.stdout
    assert done.stdout == (ROOT / "src" / "talosmith" / "cli" / "shells" / f"talosmith.{shell}").read_text()
