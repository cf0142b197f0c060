"""Which disks a selector selects; the expressions are those of docs and of real configs."""

from __future__ import annotations

from typing import Any

import pytest

from talosmith.desired.config.cel.evaluate import selects_disk
from talosmith.desired.config.cel.parse import CelError

NVME: dict[str, Any] = {
    "dev_path": "/dev/nvme0n1",
    "size": 512 * 10**9,
    "model": "Samsung SSD 970",
    "serial": "S1",
    "transport": "nvme",
    "rotational": False,
    "symlinks": ["/dev/disk/by-id/nvme-S1", "/dev/disk/by-path/pci-0"],
}


@pytest.mark.parametrize(
    ("expression", "selected"),
    [
        ('disk.dev_path == "/dev/nvme0n1"', True),
        ("disk.dev_path == '/dev/sda'", False),
        ("disk.transport == 'nvme' && disk.size > 100u * GB", True),
        ("disk.size <= 10u * TiB && disk.size > 1u * TiB", False),
        ("!disk.rotational && !system_disk", True),
        ('"/dev/disk/by-id/nvme-S1" in disk.symlinks', True),
        ('disk.symlinks.exists(one, one.startsWith("/dev/disk/by-path/pci-"))', True),
        ('disk.symlinks.all(one, one.contains("nvme"))', False),
        ('glob("Samsung*", disk.model) && disk.transport != "" && !disk.readonly && !disk.cdrom', True),
        ('glob("Samsung?", disk.model)', False),
        ('disk.model.matches("SSD [0-9]+$") ? true : false', True),
        (r'disk.serial in ["S1", "\x53\062"]', True),
        (r'disk.serial == r"S1" || disk.serial == """x"""', True),
        ("size(disk.symlinks) == 2 && disk.symlinks[0].size() > 0x3", True),
        ("disk.wwid == ''", True),
        ("unknown(disk) || disk.transport == 'nvme'", True),
        ("unknown(disk) && disk.transport == 'sata'", False),
    ],
)
def test_a_disk_is_selected(expression: str, selected: bool) -> None:
    assert selects_disk(expression, NVME) is selected


@pytest.mark.parametrize("expression", ["unknown(disk)", "disk.nope == ''", "disk.size < '1'", "b'1' == b'1'"])
def test_what_is_not_known_is_said_and_not_guessed(expression: str) -> None:
    with pytest.raises(CelError):
        selects_disk(expression, NVME)


def test_the_system_disk() -> None:
    assert selects_disk("system_disk", NVME, system_disk=True)
