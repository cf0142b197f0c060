"""What the tests of the libvirt provider need of Debian: the real libvirtd with QEMU, and a small guest to boot.

`python -m tools.peers.libvirt_recipes` installs the packages and fetches the guest's kernel, which is only unpacked:
nothing of it is installed on this machine.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.peers import packages
from tools.peers.build import cache
from tools.peers.recipe import PeerUnavailable

HEADERS = ("libvirt-dev", "pkg-config", "gcc", "python3-dev")
LIBVIRT = (
    "libvirt-daemon-system",
    "libvirt-clients",
    "qemu-system-x86",
    "qemu-utils",
    "dnsmasq-base",
    "iptables",
    "ovmf",
    "swtpm",
    "swtpm-tools",
    "openssh-server",
)
GUEST = (*packages.BUSYBOX, "syslinux", "mtools", "dosfstools", "cpio", "xz-utils")
KERNEL_PACKAGE = "linux-image-cloud-amd64"


def prepare() -> None:
    """Everything that the tests need; quick when it is there."""
    packages.ensure((*HEADERS, *LIBVIRT, *GUEST))
    kernel_folder()


def kernel_folder() -> Path:
    """A folder with `boot/vmlinuz-…` and `lib/modules/…` of Debian's kernel for virtual machines."""
    package = _newest_kernel()
    folder = cache() / f"guest-kernel-{package}"
    if folder.exists():
        return folder
    cache().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kernel-", dir=cache()) as scratch:
        _run("apt-get", "download", package, folder=Path(scratch))
        (archive,) = Path(scratch).glob("*.deb")
        unpacked = Path(scratch) / "unpacked"
        _run("dpkg-deb", "--extract", str(archive), str(unpacked), folder=Path(scratch))
        try:
            unpacked.rename(folder)
        except OSError:  # another process was faster
            if not folder.exists():
                raise
    return folder


def _newest_kernel() -> str:
    if there := sorted(cache().glob("guest-kernel-linux-image-*")):
        return there[-1].name.removeprefix("guest-kernel-")
    if not shutil.which("apt-cache"):
        raise PeerUnavailable("the guest's kernel is a Debian package, and this machine has no apt to get it")
    answer = _run("apt-cache", "depends", KERNEL_PACKAGE, folder=Path.cwd())
    found = [line.split()[-1] for line in answer.splitlines() if "Depends: linux-image-" in line]
    if not found:
        raise PeerUnavailable(f"apt does not know {KERNEL_PACKAGE}; run `apt-get update` as root")
    return found[0]


def _run(*command: str, folder: Path) -> str:
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode:
        raise PeerUnavailable(f"`{' '.join(command)}` failed:\n{(result.stdout + result.stderr)[-2000:]}")
    return result.stdout


if __name__ == "__main__":
    try:
        prepare()
    except PeerUnavailable as problem:
        sys.exit(str(problem))
