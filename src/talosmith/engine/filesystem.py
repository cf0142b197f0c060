"""Whether a folder is on a local disk, or may be shared with other machines (NFS)."""

from __future__ import annotations

import os
from pathlib import Path

_LOCAL = frozenset(
    ("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "jfs", "reiserfs", "tmpfs", "overlay")
)


def is_local(folder: Path) -> bool:
    """Whether the file system is one that is known to be local."""
    try:
        device = folder.stat().st_dev
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        if before.split()[2] == number:
            return after.split()[0] in _LOCAL
    return False  # btrfs subvolumes have device numbers of their own; then --force-unlock is needed
