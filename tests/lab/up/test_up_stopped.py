"""Ctrl-C at a terminal: once stops at a safe point, twice at once; either way the next run goes on."""

from __future__ import annotations

import os
import pty
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.lab.up.outcomes import converged
from tests.lab.up.places import UP, Here
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow

CTRL_C = b"\x03"


class Terminal:
    """One that somebody sits at: what is shown is kept."""

    def __init__(self) -> None:
        self._slave: int | None
        self.keys, self._slave = pty.openpty()
        self.path = os.ttyname(self._slave)
        self._shown = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def press(self, keys: bytes) -> None:
        os.write(self.keys, keys)

    @property
    def shown(self) -> str:
        return self._shown.decode(errors="replace")

    def all_shown(self) -> str:
        """Once nobody writes any more."""
        if self._slave is not None:
            os.close(self._slave)
            self._slave = None
        self._reader.join(PATIENCE)
        assert not self._reader.is_alive(), f"somebody still has the terminal: {self.shown}"
        return self.shown

    def close(self) -> None:
        self.all_shown()
        os.close(self.keys)

    def _read(self) -> None:
        try:
            while data := os.read(self.keys, 65536):
                self._shown += data
        except OSError:  # nobody has it open any more
            return


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.close()


@pytest.mark.parametrize(("times", "code"), [(1, 3), (2, 130)], ids=["once", "twice"])
@pytest.mark.parametrize("step", ["machine/cp-1", "node/cp-1/config", "etcd/bootstrap", "cluster/controlplane"])
def test_ctrl_c(here: Here, terminal: Terminal, step: str, times: int, code: int) -> None:
    here.write(1, 1)
    where = {"reached": str(here.root / "reached"), "go": str(here.root / "go")}
    what = {"kind": "step-started", "step": step, "warned": times > 1, **where}
    hook = ("tests.lab.up.hooks:wait_at", what)
    with here.start(*UP, before=hook, tty=terminal.path) as running:
        for number, end in enumerate(("", "2")[:times], 1):
            running.until((here.root / f"reached{end}").exists)
            terminal.press(CTRL_C)
            running.until(lambda number=number: terminal.shown.count("^C") >= number)
            running.until(lambda: not signal_waits(running.pid))
            (here.root / f"go{end}").write_text("")
        ended = running.wait()
    shown = terminal.all_shown()
    assert ended.code == code, shown
    assert "Traceback" not in shown
    assert f"talosmith up -i {here.folder}" in shown.replace("\r\n", "").replace("\n", "")
    again = here.up()
    assert again.code == 0, again.said
    converged(here, ["cp-1", "w-1"])


def signal_waits(pid: int) -> bool:
    """Whether a Ctrl-C is still to be delivered."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    pending = [line.split()[1] for line in status.splitlines() if line.startswith(("SigPnd", "ShdPnd"))]
    return any(int(mask, 16) & 2 for mask in pending)
