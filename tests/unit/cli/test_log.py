"""--verbose and --log-format: where they may stand, and what they make of stderr."""

from __future__ import annotations

import io
import json
import logging
import sys
from pathlib import Path

import pytest

from talosmith.call_log import LOGGER, logged
from talosmith.cli.app import run
from talosmith.cli.log import LogStream, logging_to_stderr, record

EXAMPLES = Path(__file__).parents[3] / "examples"
SECRET = "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4MTIz"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--log-format", "json", "plan", "--frob"],
        ["plan", "--frob", "--log-format", "json"],
        ["plan", "--log-format=json", "--frob"],
        ["-v", "--log-format=json", "plan", "--frob"],
    ],
)
def test_errors_as_json_lines(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stderr
    assert run(arguments) == 64
    assert sys.stderr is before
    out, err = capsys.readouterr()
    (line,) = err.splitlines()
    found = json.loads(line)
    assert out == ""
    assert found.pop("time").endswith("Z")
    assert found == {"level": "error", "msg": "no such option: --frob", "fix": "talosmith plan --help"}


def test_notes_of_a_command_as_json_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = "cluster_name: dev\ntalos_version: v1.13.9\nkubernetes_version: v1.36.3\n"
    (tmp_path / "cluster.yaml").write_text(header + "metal:\ncontrolplane: [{name: cp-1, ip: 10.0.0.10}]\n")
    assert run(["validate", "-i", str(tmp_path), "--log-format", "json"]) == 65
    out, err = capsys.readouterr()
    first, second, last = [json.loads(line) for line in err.splitlines()]
    assert out == ""
    assert (first["level"], "cluster.yaml:5:16: `cp-1`: no install disk" in first["msg"]) == ("error", True)
    assert first["fix"].startswith("set `disk`")
    assert (second["level"], "no `network.node_cidr`" in second["msg"]) == ("info", True)
    assert last["msg"] == "the inventory cannot be used: 1 error, 1 note"
    assert run(["validate", "-i", str(EXAMPLES / "lab"), "--log-format", "json"]) == 0
    assert "is valid" in capsys.readouterr().out  # results stay what they are


@pytest.mark.parametrize(
    ("text", "level", "message", "fix"),
    [
        ("waiting for the lock", "info", "waiting for the lock", None),
        ("warning: clock skew", "warning", "clock skew", None),
        ("error: no route\n  fix: talosmith doctor", "error", "no route", "talosmith doctor"),
        ("note: first\nsecond", "info", "first\nsecond", None),
        ("debug: talos cp-1 Version 0.010s", "debug", "talos cp-1 Version 0.010s", None),
    ],
)
def test_levels(text: str, level: str, message: str, fix: str | None) -> None:
    found = record(text)
    assert (found["level"], found["msg"], found.get("fix")) == (level, message, fix)


def test_colours_and_empty_lines_do_not_reach_a_log_and_prompts_do() -> None:
    stream = io.StringIO()
    log = LogStream(stream, as_json=True)
    log.write("\x1b[1;31merror:\x1b[0m broken")
    log.write(" pipe\n")
    log.write("\n")
    log.write("Go on? ")
    log.flush()
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(one["level"], one["msg"]) for one in lines] == [("error", "broken pipe"), ("info", "Go on?")]
    assert not log.isatty()


def test_calls_are_logged_with_duration_and_error_and_without_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_to_stderr(verbose=True, as_json=False):
        with logged("talos", "cp-1", "Version"):
            pass
        with pytest.raises(ValueError, match="refused"), logged("kubernetes", "10.0.0.1:6443", "GET /api"):
            raise ValueError(f"refused: {SECRET} \x1b[2J")
    assert not LOGGER.isEnabledFor(logging.DEBUG)
    with logged("talos", "cp-1", "Later"):
        pass
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("debug: talos cp-1 Version 0.")
    assert second.startswith("debug: kubernetes 10.0.0.1:6443 GET /api failed after 0.")
    assert second.endswith(r"ValueError: refused: *** \x1b[2J")
