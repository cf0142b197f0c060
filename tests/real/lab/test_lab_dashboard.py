"""`talosctl dashboard` on a terminal, fed by simulated nodes."""

from __future__ import annotations

import fcntl
import itertools
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

import pytest

from tests.real.lab.lab_cluster import PATIENCE, LabCluster

F1, F2, RIGHT = b"\x1bOP", b"\x1bOQ", b"\x1b[C"
ROWS, COLUMNS = (50, 51), 160
_QUIET = 2.0  # seconds


class Terminal:
    """A terminal that remembers all that was ever written to it, since the last key."""

    def __init__(self, lab: LabCluster, *arguments: str) -> None:
        self._fd, child = pty.openpty()
        self._rows = itertools.cycle(ROWS)
        self._resize()
        command = [str(lab.talosctl), *map(lab.filled, arguments)]
        # It opens the terminal of its session by name, so this one has to be that.
        self.process = subprocess.Popen(command, env=lab.environment, preexec_fn=lambda: os.login_tty(child))
        os.close(child)
        self._written = b""

    def wait_for(self, pattern: str, seconds: float = PATIENCE) -> None:
        """Only what differs from before is written, which may be half a word; at another size it is all of it."""
        end, told = time.monotonic() + seconds, time.monotonic()
        while not re.search(pattern, self.shown()):
            assert time.monotonic() < end, f"{pattern!r} never appeared in {self.shown()[-3000:]}"
            if select.select([self._fd], [], [], _QUIET)[0]:
                try:
                    self._written += os.read(self._fd, 65536)
                except OSError:  # it has ended
                    raise AssertionError(f"the dashboard ended: {self.shown()}") from None
            if time.monotonic() - told > _QUIET:
                told = time.monotonic()
                self._resize()

    def _resize(self) -> None:
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", next(self._rows), COLUMNS, 0, 0))

    def shown(self) -> str:
        """Without spaces and the codes that move and colour: a space may be either."""
        text = self._written.decode(errors="replace")  # at once: a read may end within a character
        return re.sub(r"\x1b(\[[0-9;?]*[A-Za-z]|[()][A-Z0-9]|[=>])|\s", "", text)

    def press(self, keys: bytes) -> None:
        self._written = b""
        os.write(self._fd, keys)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._fd)


@pytest.fixture
def terminal(running: LabCluster) -> Terminal:
    return Terminal(running, "dashboard", "-n", "<cp-1>,<w-1>")


def test_dashboard(terminal: Terminal) -> None:
    try:
        terminal.wait_for(r"cp-1Talos\(v1\.14\.1\)")
        for seen in ("TYPEcontrolplane", "STAGE.Running", "READY.True", "APISERVER.Healthy", r"\(5machines\)"):
            terminal.wait_for(seen)
        terminal.wait_for(r"service\[etcd\]\(Running\)")
        terminal.press(F2)
        terminal.wait_for("/usr/bin/kubelet")
        terminal.press(F1 + RIGHT)
        terminal.wait_for("w-1")
        terminal.wait_for("worker")
    finally:
        terminal.close()
