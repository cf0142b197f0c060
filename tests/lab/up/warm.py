"""A warm parent of talosmith processes: it has imported everything once, and forks for each command.

Starting Python and importing costs more than a whole bring-up in the lab. A process that is forked here is a process
of its own in all that matters: it can be stopped and killed, has its own environment, files and exit code. Labs that
it starts in the background are forked here, too.

Requests come by a socket, one for each connection: a line of JSON with `argv`, `env`, `stdout`, `stderr` (paths) and
`before` (a function `module:name` with its arguments, called in the new process first); with `lab` in place of `argv`
it is that lab; with `tty`, the path of a terminal, it is that process' own in place of the two files. The answers are
a line with the process' id and, once it has ended, a line with its exit code (negative: the signal that ended it).
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import threading
import time
import traceback
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

import talosmith
from tests.lab.up import hooks

_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND
SOCKET_VARIABLE = "TALOSMITH_TEST_WARM"
_NEEDED = (  # beside every module of talosmith: what some of its functions import
    "talosmith_lab.serve", "rich.live", "concurrent.futures.thread", "pyrage", "statistics", "truststore",
    "httpx2", "httpcore2._backends.anyio", "anyio._backends._asyncio", "encodings.idna",
    "cryptography.hazmat.primitives.ciphers.aead", "cryptography.hazmat.backends.openssl.backend",
)  # fmt: skip
_ROOT = Path(__file__).parents[3]


def serve(path: str) -> None:
    _warm_up()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{path}.new")
        listener.listen(64)
        Path(f"{path}.new").rename(path)  # who sees it is let in
        _Parent(listener, path).run()


class _Parent:
    def __init__(self, listener: socket.socket, path: str) -> None:
        self._listener = listener
        self._path = path
        self._children: dict[int, socket.socket] = {}

    def run(self) -> None:
        keeper = os.getppid()
        wake, woken = os.pipe()
        os.set_blocking(woken, False)
        signal.set_wakeup_fd(woken)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        while os.getppid() == keeper:
            ready, _, _ = select.select([self._listener, wake], [], [], 1.0)
            if wake in ready:
                os.read(wake, 4096)
            self._reap()
            if self._listener in ready:
                self._take()

    def _take(self) -> None:
        connection, _ = self._listener.accept()
        line = _line(connection)
        if not line:  # who asked was killed in the middle of it
            connection.close()
            return
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._listener.close()
            connection.close()
            for other in self._children.values():
                other.close()
            _be(request, self._path)
        self._children[pid] = connection
        with suppress(OSError):  # who asked may have been killed meanwhile
            connection.sendall(json.dumps({"pid": pid}).encode() + b"\n")

    def _reap(self) -> None:
        for pid in list(self._children):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                connection = self._children.pop(pid)
                with suppress(OSError):
                    connection.sendall(json.dumps({"rc": os.waitstatus_to_exitcode(status)}).encode() + b"\n")
                connection.close()


def _line(connection: socket.socket) -> bytes:
    """All of it, or nothing."""
    line = b""
    with suppress(OSError):
        while not line.endswith(b"\n"):
            more = connection.recv(65536)
            if not more:
                return b""
            line += more
        return line
    return b""


def _warm_up() -> None:
    """Import every module, and build what the first inventory of a process builds: most of a command's own time."""
    modules = (module.name for module in pkgutil.walk_packages(talosmith.__path__, "talosmith."))
    for name in (*_NEEDED, *(name for name in modules if not name.endswith("__main__"))):
        importlib.import_module(name)
    from talosmith.cli.app import run

    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        assert run(["validate", "-i", str(_ROOT / "examples" / "lab")]) == 0
    assert threading.active_count() == 1, "a process with threads is not forked"
    gc.collect()
    gc.freeze()


def _be(request: dict[str, Any], path: str) -> None:
    code = 70
    try:
        os.setsid()
        os.environ.clear()
        os.environ.update(request["env"], **{SOCKET_VARIABLE: path})
        os.dup2(os.open(request.get("tty") or os.devnull, os.O_RDWR), 0)  # a terminal becomes its own by this
        for number, file in ((1, request["stdout"]), (2, request["stderr"])):
            os.dup2(0 if request.get("tty") else os.open(file, _APPEND, 0o600), number)
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        from talosmith.providers.lab import process

        process.subprocess = _Spawning  # type: ignore[attr-defined]
        if request.get("before"):
            name, arguments = request["before"]
            module, _, function = name.partition(":")
            getattr(importlib.import_module(module), function)(**arguments)
        code = _lab(request["lab"]) if "lab" in request else _talosmith(request["argv"])
        sys.stdout.flush()
        sys.stderr.flush()
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        hooks.at_end()
        os._exit(code)


def _talosmith(argv: list[str]) -> int:
    from talosmith.cli.app import run

    sys.argv = ["talosmith", *argv]
    return int(run(argv))


def _lab(name: str) -> int:
    from talosmith_lab.serve import serve

    serve(name)
    return 0


class _Spawned:
    """As much of `subprocess.Popen` as the lab's `process` uses."""

    def __init__(self, command: list[str], *, stdout: Any, **_: Any) -> None:
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(os.environ[SOCKET_VARIABLE])
        assert command[1:3] == ["-m", "talosmith_lab"], command
        request = {"lab": command[3], "env": dict(os.environ), "stdout": stdout.name, "stderr": stdout.name}
        self._connection.sendall(json.dumps(request).encode() + b"\n")
        self._said = _line(self._connection)
        if not self._said:
            raise OSError("the warm parent is gone")
        self._connection.setblocking(False)

    def poll(self) -> int | None:
        with suppress(BlockingIOError):
            self._said += self._connection.recv(4096)
        lines = self._said.splitlines()
        return int(json.loads(lines[1])["rc"]) if len(lines) > 1 else None


class _Spawning:
    Popen = _Spawned
    DEVNULL = -3


def start(folder: Path, module: str = "tests.lab.up.warm") -> tuple[Any, str]:
    """The warm parent as a process of the test session, and where it listens. `module`: one that imports more."""
    import subprocess

    path = str(folder / "warm.sock")
    process = subprocess.Popen([sys.executable, "-m", module, path], cwd=_ROOT)
    end = time.monotonic() + 300
    while not Path(path).exists():
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError("the warm parent did not start")
        time.sleep(0.02)
    return process, path


if __name__ == "__main__":
    serve(sys.argv[1])
