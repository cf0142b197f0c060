"""A loopback sshd on the daemon's side of things: the host as somebody far away sees it."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.real.libvirt.daemon import Daemon

_PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class SshHost:
    port: int
    command: Path  # ssh, with everything of its own: the user's files are neither read nor written

    @property
    def uri(self) -> str:
        return f"qemu+ssh://root@127.0.0.1:{self.port}/system?command={self.command}&no_tty=1"


@contextmanager
def ssh_host(daemon: Daemon, folder: Path, *, trusted: bool = True) -> Iterator[SshHost]:
    """`trusted`: whether the host takes our key."""
    for name in ("host", "user", "other"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    taken = folder / "taken"
    taken.write_text((folder / ("user.pub" if trusted else "other.pub")).read_text())
    taken.chmod(0o600)
    folder.chmod(0o700)
    port = _free_port()
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {taken}\nStrictModes no\n"
        "UsePAM no\nPermitRootLogin prohibit-password\nPasswordAuthentication no\nAllowTcpForwarding no\n"
        f"PidFile {folder}/sshd.pid\n"
    )
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    (folder / "ssh_config").write_text(
        f"Host *\n  IdentityFile {folder}/user\n  IdentitiesOnly yes\n  IdentityAgent none\n"
        f"  UserKnownHostsFile {folder}/known_hosts\n  GlobalKnownHostsFile /dev/null\n  BatchMode yes\n"
    )
    command = folder / "ssh"
    command.write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {folder}/ssh_config "$@"\n')
    command.chmod(0o755)
    Path("/run/sshd").mkdir(exist_ok=True)
    log = folder / "sshd.log"
    process = subprocess.Popen(
        ["nsenter", "--mount", "--target", str(daemon.inside()), "/usr/sbin/sshd", "-D", "-f", folder / "sshd_config",
         "-E", log]
    )  # fmt: skip
    try:
        _wait(port, log)
        yield SshHost(port, command)
    finally:
        process.terminate()
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(port: int, log: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise AssertionError(f"sshd did not start: {log.read_text() if log.exists() else ''}") from None
        time.sleep(0.05)
