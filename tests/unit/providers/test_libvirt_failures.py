"""What libvirt says is told in our words: whether trying again helps, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from talosmith.errors import Permanent, TalosmithError, Temporary
from talosmith.providers.libvirt.connection import Host
from talosmith.providers.libvirt.failures import Interrupted, failure
from tests.unit.providers.libvirt_harness import TEST_DRIVER

pytestmark = pytest.mark.usefixtures("libvirt_library")


class Said(Exception):
    """As libvirt raises it."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self._code = code

    def get_error_code(self) -> int:
        return self._code


# In the words of libvirt, ssh and QEMU.
SAYINGS: list[tuple[str, int, str, type[TalosmithError], str]] = [
    (
        "no_key",
        38,
        "Cannot recv data: root@h: Permission denied (publickey).: Connection reset by peer",
        Permanent,
        "ssh key",
    ),
    (
        "unknown_host",
        38,
        "Cannot recv data: Host key verification failed.: Connection reset by peer",
        Permanent,
        "log in once",
    ),
    (
        "no_such_name",
        38,
        "Cannot recv data: ssh: Could not resolve hostname h: Name or service not known",
        Permanent,
        "libvirt.uri",
    ),
    (
        "not_in_group",
        38,
        "Failed to connect socket to '/var/run/libvirt/libvirt-sock': Permission denied",
        Permanent,
        "group",
    ),
    (
        "no_daemon",
        38,
        "Failed to connect socket to '/var/run/libvirt/libvirt-sock': No such file or directory",
        Temporary,
        "libvirtd",
    ),
    ("cut_off", 1, "internal error: client socket is closed", Interrupted, "again"),
    ("cut_off_reading", 38, "End of file while reading data: Input/output error", Interrupted, "again"),
    (
        "no_kvm",
        1,
        "internal error: process exited: Could not access KVM kernel module: Permission denied",
        Permanent,
        "domain_type",
    ),
    ("no_room", 1, "internal error: cannot write: No space left on device", Permanent, "libvirt.pool"),
    ("no_firmware", 9, "operation failed: Unable to find any firmware to satisfy 'efi'", Permanent, "ovmf"),
    ("no_tpm", 1, "internal error: Unable to find 'swtpm_setup'", Permanent, "install swtpm"),
    ("slow_tpm", 68, "Timed out during operation: swtpm socket did not show up", Temporary, "busy"),
    ("session", 38, "error creating bridge interface virbr0: Operation not permitted", Permanent, "qemu:///system"),
    ("busy", 68, "Timed out during operation: cannot acquire state change lock", Temporary, "at work"),
    ("gone", 42, "Domain not found: no domain with matching uuid", Permanent, "plan again"),
    ("anything_else", 1, "internal error: something odd", Permanent, "log"),
]


@pytest.mark.parametrize(
    ("code", "text", "kind", "hint"), [one[1:] for one in SAYINGS], ids=[one[0] for one in SAYINGS]
)
def test_a_saying_is_understood(code: int, text: str, kind: type[TalosmithError], hint: str) -> None:
    told = failure("make w-1", Said(code, text))
    assert type(told) is kind
    assert hint in told.hint and str(told).startswith("make w-1: ")


async def test_where_nobody_listens(tmp_path: Path) -> None:
    with pytest.raises(Temporary, match="Failed to connect socket") as told:
        await Host(f"qemu+unix:///system?socket={tmp_path}/none").do("look", lambda one: one.getHostname())
    assert "is libvirtd running" in told.value.hint


async def test_what_breaks_is_done_again_unless_it_must_not_be() -> None:
    host = Host(TEST_DRIVER)
    tries: list[int] = []

    def breaks(times: int) -> Callable[[Any], str]:
        def work(connection: Any) -> str:
            tries.append(1)
            if len(tries) <= times:
                raise Interrupted("cut off")
            return str(connection.getType())

        return work

    assert await host.do("look", breaks(2)) == "TEST"
    assert len(tries) == 3
    tries.clear()
    with pytest.raises(Interrupted):
        await host.do("define", breaks(1), once=True)
    assert len(tries) == 1
    tries.clear()
    with pytest.raises(Interrupted):
        await host.do("look", breaks(99))
    assert len(tries) == 3
    await host.close()
    assert await host.do("look again", lambda one: one.getType()) == "TEST"
    await host.close()
