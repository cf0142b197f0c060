"""What a node sees below `/`: a read-only system, folders that survive a reboot, and nothing of the machine.

It has no disks and no way to the machine's kernel parameters: what Talos sets for the whole kernel goes to files of
the node's own. Parameters below `net` belong to the node's network namespace and are real.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import uuid
from pathlib import Path
from typing import Any

from tests.real.talos import linux
from tests.real.talos.node_spec import NodeSpec
from tests.real.talos.rootfs import POD_NETWORKS

KEPT = ("var", "system/state", "etc/cni", "etc/kubernetes", "usr/libexec/kubernetes", "opt")
PRIVATE_PARAMETERS = (
    "fs/aio-max-nr",
    "fs/inotify/max_user_instances",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/pid_max",
    "vm/overcommit_memory",
)
# Talos 1.13 starts containerd without waiting for this file. If it is still empty, containerd loads no CRI plugin and
# the kubelet never starts: seen when several nodes boot at once on few cores. So a boot finds the last one's file.
_RUNTIME_SPEC = Path("etc/cri/conf.d/base-spec.json")
_DEVICES = {
    "null": (1, 3),
    "zero": (1, 5),
    "full": (1, 7),
    "random": (1, 8),
    "urandom": (1, 9),
    "kmsg": (1, 11),
    "tty": (5, 0),
    "fuse": (10, 229),
    "net/tun": (10, 200),
}
_LINKS = {"fd": "fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
_PLAIN = linux.NO_SUID | linux.NO_DEVICES | linux.NO_EXEC


def build_root(spec: NodeSpec) -> None:
    """Mount everything and make it the root. The caller is in a mount namespace of its own."""
    rootfs, folder = Path(spec.rootfs), Path(spec.folder)
    root, own = folder / "root", folder / "own"
    root.mkdir(exist_ok=True)
    _write_own(spec, own)
    linux.mount("", "/", flags=linux.RECURSIVE | linux.PRIVATE)
    # An overlay, as in any container: Talos spends ten seconds of each reboot on unmounting a root that is a disk's.
    linux.mount("overlay", root, "overlay", linux.READ_ONLY, f"lowerdir={own}:{rootfs}")
    _mount_proc(root, folder / "parameters")
    linux.mount("sysfs", root / "sys", "sysfs", _PLAIN | linux.READ_ONLY)
    linux.mount("cgroup2", root / "sys/fs/cgroup", "cgroup2", _PLAIN)
    _mount_devices(root / "dev")
    for scratch, mode in {"run": "0755", "system": "0755", "tmp": "1777"}.items():
        linux.mount("tmpfs", root / scratch, "tmpfs", linux.NO_SUID | linux.NO_DEVICES, f"mode={mode}")
    _mount_kept(root, rootfs, folder / "kept")
    linux.make_root(root)


def _mount_proc(root: Path, own: Path) -> None:
    proc = root / "proc"
    linux.mount("proc", proc, "proc", _PLAIN)
    parameters = proc / "sys"
    linux.mount(parameters, parameters, flags=linux.BIND)
    linux.mount(parameters / "net", parameters / "net", flags=linux.BIND)
    linux.mount("", parameters, flags=linux.BIND | linux.REMOUNT | linux.READ_ONLY | _PLAIN)
    own.mkdir(exist_ok=True)
    values = {name: (parameters / name).read_text() for name in PRIVATE_PARAMETERS}
    values["kernel/random/boot_id"] = f"{uuid.uuid4()}\n"  # `talosctl reboot --wait` compares it
    for name, value in values.items():
        file = own / name.replace("/", ".")
        file.write_text(value)
        linux.mount(file, parameters / name, flags=linux.BIND)
    if (proc / "sysrq-trigger").exists():
        linux.mount("/dev/null", proc / "sysrq-trigger", flags=linux.BIND)


def _mount_devices(dev: Path) -> None:
    linux.mount("tmpfs", dev, "tmpfs", linux.NO_SUID, "mode=0755")
    for folder in ("pts", "shm", "mqueue", "net"):
        (dev / folder).mkdir()
    for name, (major, minor) in _DEVICES.items():
        os.mknod(dev / name, stat.S_IFCHR, os.makedev(major, minor))
        (dev / name).chmod(0o666)
    for name, target in _LINKS.items():
        (dev / name).symlink_to(f"/proc/self/{target}")
    linux.mount("devpts", dev / "pts", "devpts", linux.NO_SUID | linux.NO_EXEC, "newinstance,ptmxmode=0666,mode=0620")
    (dev / "ptmx").symlink_to("pts/ptmx")
    linux.mount("tmpfs", dev / "shm", "tmpfs", linux.NO_SUID | linux.NO_DEVICES)
    linux.mount("mqueue", dev / "mqueue", "mqueue", _PLAIN)


def _mount_kept(root: Path, rootfs: Path, kept: Path) -> None:
    (root / "system/state").mkdir()
    for name in KEPT:
        own = kept / name.replace("/", "-")
        if not own.exists():
            before = rootfs / name
            shutil.copytree(before, own, symlinks=True) if before.is_dir() else own.mkdir(parents=True)
        linux.mount(own, root / name, flags=linux.BIND)


def _pod_network(subnet: str) -> dict[str, Any]:
    """Pods of one node reach each other and the node; it takes no more for a node to be ready."""
    addresses = {"type": "host-local", "ranges": [[{"subnet": subnet}]], "routes": [{"dst": "0.0.0.0/0"}]}
    bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "hairpinMode": True, "ipam": addresses}
    return {"cniVersion": "1.0.0", "name": "pods", "plugins": [bridge]}


def keep_runtime_spec(spec: NodeSpec, root: Path) -> bool:
    """Whether Talos has written the runtime spec of its containers; the next boot finds a copy."""
    try:
        text = (root / _RUNTIME_SPEC).read_text()
        json.loads(text)
    except (OSError, ValueError):  # not written yet, or not as a whole
        return False
    kept = Path(spec.folder, _RUNTIME_SPEC.name)
    kept.with_suffix(".new").write_text(text)  # a launcher may be killed at any time
    kept.with_suffix(".new").rename(kept)
    return True


def _write_own(spec: NodeSpec, own: Path) -> None:
    """The node's own files of the system. Mounts upon /etc would not do: Talos 1.14 lays an overlay over it."""
    texts = {
        "etc/hostname": f"{spec.name}\n",
        "etc/hosts": "127.0.0.1 localhost\n",
        "etc/resolv.conf": f"nameserver {spec.gateway}\n",
        f"{POD_NETWORKS}/10-pods.conflist": json.dumps(_pod_network(spec.pods)),
    }
    kept = Path(spec.folder, _RUNTIME_SPEC.name)
    if kept.exists():
        texts[str(_RUNTIME_SPEC)] = kept.read_text()
    for name, text in texts.items():
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        (own / name).write_text(text)
