"""Where the output goes: a disk that is full, a reader that is gone, a stream that is closed, too little memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from talosmith.errors import ExitCode

pytestmark = pytest.mark.slow

EXAMPLE = str(Path(__file__).parents[3] / "examples" / "lab")  # without a warning, which would be on stderr
COMMANDS = (["--version"], ["show", "--help"], ["show", "-i", EXAMPLE])
commands = pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
buffered = pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])


def _start(command: list[str], unbuffered: str = "", **streams: Any) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered, "NO_COLOR": "1"}
    whole = [sys.executable, "-m", "talosmith", *command]
    return subprocess.Popen(whole, text=True, env=environment, **{"stderr": subprocess.PIPE, **streams})


def _closing(number: int) -> Callable[[], None]:
    return lambda: os.close(number)


@commands
@buffered
def test_a_disk_that_is_full(command: list[str], unbuffered: str) -> None:
    with Path("/dev/full").open("w") as full:
        process = _start(command, unbuffered, stdout=full)
    _, said = process.communicate(timeout=60)
    assert said == "error: cannot write to stdout: No space left on device\n"
    assert process.returncode == ExitCode.FAILED


@commands
@buffered
def test_a_reader_that_is_gone(command: list[str], unbuffered: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = _start(command, unbuffered, stdout=writing)
    os.close(writing)
    _, said = process.communicate(timeout=60)
    assert (said, process.returncode) == ("", ExitCode.READER_GONE)


@commands
def test_a_closed_stdout(command: list[str]) -> None:
    process = _start(command, preexec_fn=_closing(1))
    _, said = process.communicate(timeout=60)
    assert said == "error: cannot write to stdout: closed (Bad file descriptor)\n"
    assert process.returncode == ExitCode.FAILED


@pytest.mark.parametrize("stderr", ["closed", "full"])
def test_what_cannot_be_told_changes_no_exit_code(stderr: str, tmp_path: Path) -> None:
    for command, code in ((["show", "-i", str(tmp_path)], ExitCode.USAGE), (["show", "-i", EXAMPLE], ExitCode.DONE)):
        if stderr == "closed":
            process = _start(command, stdout=subprocess.PIPE, stderr=None, preexec_fn=_closing(2))
        else:
            with Path("/dev/full").open("w") as full:
                process = _start(command, stdout=subprocess.PIPE, stderr=full)
        process.communicate(timeout=60)
        assert process.returncode == code


def test_a_closed_stdin(tmp_path: Path) -> None:
    process = _start(["init", str(tmp_path / "new")], stdout=subprocess.PIPE, preexec_fn=_closing(0))
    _, said = process.communicate(timeout=60)
    assert (said, process.returncode) == ("", 0)


def test_an_encoding_that_lacks_characters() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "talosmith", "validate", "-i", EXAMPLE]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.startswith("\\u2713 ")


@pytest.mark.parametrize(
    "problem",
    ["MemoryError()", "BaseExceptionGroup('', [MemoryError()])", "OSError(12, 'Cannot allocate memory')",
     "ImportError('libx.so: failed to map segment: Cannot allocate memory')"],
)  # fmt: skip
def test_too_little_memory(problem: str) -> None:
    program = (
        f"from talosmith.cli.streams import guarded\ndef work(): raise {problem}\nraise SystemExit(guarded(work))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr == "error: out of memory; free some, the command is safe to re-run\n"
    assert done.returncode == ExitCode.FAILED


def test_a_fault_of_ours_is_not_hidden() -> None:
    program = "from talosmith.cli.streams import guarded\ndef work(): raise OSError(2, 'No such file')\nguarded(work)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "FileNotFoundError: [Errno 2] No such file" in done.stderr
    assert done.returncode == 1


def test_output_lost_inside_of_a_group() -> None:
    """As it comes out of tasks that run at the same time."""
    program = (
        "from talosmith.cli.streams import OutputLost, guarded\n"
        "def work(): raise ExceptionGroup('', [ExceptionGroup('', [OutputLost(BrokenPipeError(32, 'gone'))])])\n"
        "raise SystemExit(guarded(work))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stderr, done.returncode) == ("", ExitCode.READER_GONE)
