"""Debian packages that some peers need: installed by the build itself, only those that are missing."""

from __future__ import annotations

import os
import shutil
import subprocess

from tools.peers.recipe import PeerUnavailable

C_COMPILER = ("gcc", "libc6-dev", "pkg-config", "libseccomp-dev")
BUSYBOX = ("busybox-static",)


def ensure(packages: tuple[str, ...]) -> None:
    missing = [package for package in packages if not _installed(package)]
    if not missing:
        return
    if not shutil.which("apt-get"):
        raise PeerUnavailable(f"needs what Debian calls {', '.join(missing)}; this machine has no apt-get to get it")
    if os.geteuid() != 0:
        raise PeerUnavailable(
            f"needs the packages {', '.join(missing)}; as root: apt-get install {' '.join(missing)}"
        )
    _apt("update")
    _apt("install", "--yes", "--no-install-recommends", *missing)


def _installed(package: str) -> bool:
    if not shutil.which("dpkg-query"):
        return False
    asked = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${db:Status-Status}", package],  # noqa: S607 - Debian's own
        capture_output=True,
        text=True,
        check=False,
    )
    return asked.stdout == "installed"


def _apt(*arguments: str) -> None:
    command = ["apt-get", "-o", "DPkg::Lock::Timeout=300", *arguments]
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if result.returncode:
        raise PeerUnavailable(f"`{' '.join(command)}` failed:\n{(result.stdout + result.stderr)[-2000:]}")
