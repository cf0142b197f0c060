"""An sshd on the daemon's side of things: the host as somebody far away sees it.

It listens in the daemon's own network, where nobody else takes its port; ssh goes there to reach it.
"""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.real.libvirt.daemon import Daemon
from tests.waiting import until

_PORT = 22


@dataclass(frozen=True, slots=True)
class SshHost:
    command: Path  # ssh, with everything of its own: the user's files are neither read nor written

    @property
    def uri(self) -> str:
        return f"qemu+ssh://root@127.0.0.1/system?command={self.command}&no_tty=1"


@contextmanager
def ssh_host(daemon: Daemon, folder: Path, *, trusted: bool = True) -> Iterator[SshHost]:
    """`trusted`: whether the host takes our key."""
    for name in ("host", "user", "other"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    taken = folder / "taken"
    taken.write_text((folder / ("user.pub" if trusted else "other.pub")).read_text())
    taken.chmod(0o600)
    folder.chmod(0o700)
    (folder / "sshd_config").write_text(
        f"Port {_PORT}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nAuthorizedKeysFile {taken}\nStrictModes no\n"
        "UsePAM no\nPermitRootLogin prohibit-password\nPasswordAuthentication no\nAllowTcpForwarding no\n"
        f"PidFile {folder}/sshd.pid\n"
    )
    (folder / "known_hosts").write_text(f"127.0.0.1 {(folder / 'host.pub').read_text()}")
    (folder / "ssh_config").write_text(
        f"Host *\n  IdentityFile {folder}/user\n  IdentitiesOnly yes\n  IdentityAgent none\n"
        f"  UserKnownHostsFile {folder}/known_hosts\n  GlobalKnownHostsFile /dev/null\n  BatchMode yes\n"
    )
    command = folder / "ssh"
    command.write_text(f'#!/bin/sh\nexec nsenter --net={daemon.network} /usr/bin/ssh -F {folder}/ssh_config "$@"\n')
    command.chmod(0o755)
    Path("/run/sshd").mkdir(exist_ok=True)
    log = folder / "sshd.log"
    process = subprocess.Popen(
        ["nsenter", "--mount", "--net", "--target", str(daemon.inside()), "/usr/sbin/sshd", "-D",
         "-f", folder / "sshd_config", "-E", log]
    )  # fmt: skip
    try:
        until(
            lambda: daemon.in_network(_listens),
            told=lambda: f"sshd did not start: {log.read_text() if log.exists() else ''}",
        )
        yield SshHost(command)
    finally:
        process.terminate()
        process.wait()


def _listens() -> bool:
    with socket.socket() as trying:
        return trying.connect_ex(("127.0.0.1", _PORT)) == 0
