"""No test of the first tier can reach an address outside loopback, nor can a program that it starts."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

ELSEWHERE = ("192.0.2.1", 9)  # for documentation: nobody has it
DIAL = f"import socket; socket.socket().connect({ELSEWHERE!r})"


def test_this_process_is_refused(dialed: Path) -> None:
    with socket.socket() as dialing, pytest.raises(PermissionError, match=r"192\.0\.2\.1"):
        dialing.connect(ELSEWHERE)
    assert dialed.read_text().split() == [ELSEWHERE[0]]
    dialed.write_text("")


def test_a_child_is_refused(dialed: Path) -> None:
    done = subprocess.run([sys.executable, "-c", DIAL], capture_output=True, text=True, check=False)
    assert "PermissionError" in done.stderr
    assert dialed.read_text().split() == [ELSEWHERE[0]]
    dialed.write_text("")
