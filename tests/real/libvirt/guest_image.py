"""The image of a small guest that boots from its disk: Debian's kernel, busybox, and an init of our own.

Built once and kept with the peers; a change of what it is made of makes a new one.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from tools.peers.build import cache
from tools.peers.libvirt_recipes import kernel_folder

_PARTS = Path(__file__).parent / "guest"
_MODULES = (
    "virtio_pci", "virtio_blk", "virtio_net", "virtio_scsi", "sr_mod", "isofs", "button", "evdev",
)  # fmt: skip
_SIZE = "24M"


def guest_image() -> Path:
    """A qcow2 of a few megabytes. Nothing in it is packed but the kernel: emulated machines are slow to unpack."""
    kernel = kernel_folder()
    digest = hashlib.sha256(kernel.name.encode())
    for part in (*sorted(_PARTS.iterdir()), Path(__file__)):
        digest.update(part.read_bytes())
    image = cache() / f"guest-{digest.hexdigest()[:16]}.qcow2"
    if not image.exists():
        with tempfile.TemporaryDirectory(prefix="guest-", dir=cache()) as scratch:
            _build(Path(scratch), kernel).rename(image)
    return image


def _build(scratch: Path, kernel: Path) -> Path:
    raw, image = scratch / "disk.raw", scratch / "disk.qcow2"
    (vmlinuz,) = (kernel / "boot").glob("vmlinuz-*")
    initrd = scratch / "initrd"
    initrd.write_bytes(_files(scratch / "root", kernel))
    _run("truncate", "-s", _SIZE, raw)
    _run("mkfs.vfat", "-F", "12", "-s", "128", raw)  # large clusters: the BIOS reads them one by one
    _run("syslinux", "--install", raw)
    for file, name in ((vmlinuz, "vmlinuz"), (initrd, "initrd"), (_PARTS / "syslinux.cfg", "syslinux.cfg")):
        _run("mcopy", "-i", raw, file, f"::{name}")
    _run("qemu-img", "convert", "-O", "qcow2", raw, image)
    return image


def _files(root: Path, kernel: Path) -> bytes:
    for folder in ("bin", "dev", "proc", "sys", "etc", "modules"):
        (root / folder).mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin" / "busybox")
    shutil.copy(_PARTS / "init", root / "init")
    (root / "init").chmod(0o755)
    there = {path.stem.replace("-", "_"): path for path in (kernel / "lib" / "modules").rglob("*.ko")}
    order: list[str] = []
    for name in _MODULES:
        _in_order(name, there, order)
    for name in order:
        shutil.copy(there[name], root / "modules" / f"{name}.ko")
    (root / "modules" / "order").write_text("".join(f"{name}\n" for name in order))
    names = "\n".join(str(one.relative_to(root)) for one in [root, *sorted(root.rglob("*"))])
    packed = subprocess.run(
        ["cpio", "--create", "--format=newc", "--quiet"],
        cwd=root,
        input=names.encode(),
        capture_output=True,
        check=True,
    )
    return packed.stdout


def _in_order(name: str, there: dict[str, Path], order: list[str]) -> None:
    """The module after those that it needs; each module says in itself which those are."""
    told = re.search(rb"\0depends=([^\0]*)\0", there[name].read_bytes())
    for needed in told[1].decode().split(",") if told and told[1] else ():
        _in_order(needed.replace("-", "_"), there, order)
    if name not in order:
        order.append(name)


def _run(*command: object) -> str:
    result = subprocess.run([str(one) for one in command], capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{command}: {result.stdout}{result.stderr}"
    return result.stdout
