"""The shape of the documents about volume groups, arrays and the care of file systems. See `notation`."""

from __future__ import annotations

KINDS: dict[str, str] = {
    "FilesystemScrubConfig": """
interval  duration
""",
    "FilesystemTrimConfig": """
interval  duration
""",
    "LVMLogicalVolumeConfig": """
name          s  !
type          lvm-type  !
mirrors       *u32
stripes       *u32
provisioning  .  !
    volumeGroup  s  !
    minSize      size
    maxSize      size-or-share
""",
    "LVMVolumeGroupConfig": """
name          s  !
provisioning  .  !
    volumeSelector  .
        match  cel
""",
    "RAIDArrayConfig": """
name          s  !
level         raid-level  !
metadata      raid-metadata
provisioning  .  !
    volumeSelector  .  !
        match  cel
""",
}
