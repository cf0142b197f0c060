"""Whether a folder is on a disk of this machine's own, or may be shared with others at the same time."""

from __future__ import annotations

import os
from pathlib import Path

_LOCAL = frozenset(
    ("ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "bcachefs", "jfs", "reiserfs", "tmpfs", "overlay")
)


def is_local(folder: Path) -> bool:
    """Only what is known to be local counts."""
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
    return False  # btrfs subvolumes have numbers of their own; then the user is asked
