"""`talosctl dashboard` on a terminal, fed by simulated nodes."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

import pytest

from tests.real.lab.lab_cluster import LabCluster

F1, F2, RIGHT = b"\x1bOP", b"\x1bOQ", b"\x1b[C"


class Terminal:
    """A terminal of 160 by 50 that remembers all that was ever written to it."""

    def __init__(self, lab: LabCluster, *arguments: str) -> None:
        self._fd, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
        command = [str(lab.talosctl), *map(lab.filled, arguments)]
        # It opens the terminal of its session by name, so this one has to be that.
        self.process = subprocess.Popen(command, env=lab.environment, preexec_fn=lambda: os.login_tty(child))
        os.close(child)
        self.text = ""

    def wait_for(self, pattern: str, seconds: float = 20) -> None:
        end = time.monotonic() + seconds
        while not re.search(pattern, self.shown()):
            left = end - time.monotonic()
            assert left > 0, f"{pattern!r} never appeared in {self.shown()[-3000:]}"
            if select.select([self._fd], [], [], left)[0]:
                try:
                    self.text += os.read(self._fd, 65536).decode(errors="replace")
                except OSError:  # it has ended
                    raise AssertionError(f"the dashboard ended: {self.shown()}") from None

    def shown(self) -> str:
        """Without spaces and the codes that move and colour: a space may be either."""
        return re.sub(r"\x1b(\[[0-9;?]*[A-Za-z]|[()][A-Z0-9]|[=>])|\s", "", self.text)

    def press(self, keys: bytes) -> None:
        self.text = ""
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
        terminal.wait_for(r"cp-1Talos\(v1\.13\.9\)")
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
