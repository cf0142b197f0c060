"""What libvirt says when something is wrong, in our two words, with the way out.

libvirt has a code for every error, but ssh, QEMU and the kernel speak through a few of them: their texts decide.
"""

from __future__ import annotations

import re
from typing import Any

from talosmith.errors import Permanent, TalosmithError, Temporary

# Codes of libvirt's `virErrorNumber`; they never change.
INTERNAL, NO_SUPPORT, OPERATION_FAILED, SYSTEM, RPC = 1, 3, 9, 38, 39
NO_DOMAIN, NO_NETWORK, AUTH_FAILED, NO_POOL, NO_VOLUME = 42, 43, 45, 49, 50
NOT_NOW, TIMED_OUT, DENIED, VOLUME_EXISTS, BUSY = 55, 68, 88, 90, 87

GONE = (NO_DOMAIN, NO_NETWORK, NO_POOL, NO_VOLUME)

# What is said of a connection that broke in the middle of a call: whether it was done is not known.
_BROKEN = re.compile(
    r"end of file while reading|client socket is closed|broken pipe|connection reset|keepalive|"
    r"cannot (?:recv|write) data|internal error: (?:client|connection) (?:closed|reset)",
    re.IGNORECASE,
)

# text, hint, whether trying again may help
_TEXTS: tuple[tuple[str, str, bool], ...] = (
    (r"host key verification failed", "log in once with ssh to accept the host's key", False),
    (r"permission denied \((?:publickey|password)", "the host refuses the ssh key: try the same with `ssh`", False),
    (r"could not resolve hostname|name or service not known", "check the host's name in `libvirt.uri`", False),
    (r"connection timed out|no route to host|network is unreachable", "is the host up and reachable?", True),
    (r"libvirt-sock.*permission denied|permission denied.*libvirt-sock|authentication (?:failed|unavailable)|"
     r"polkit", "let the user into the group `libvirt` of the host and log in again, or use root", False),
    (r"failed to connect socket|connection refused", "is libvirtd running on the host? `systemctl status libvirtd`",
     True),
    (r"virt-ssh-helper|command not found|nc: ", "install libvirt on the host (libvirt-daemon-system)", False),
    (r"could not access kvm|kvm.*(?:not available|permission denied)|failed to initialize kvm",
     "KVM does not work on this host: switch virtualisation on in its firmware, or set `domain_type: qemu`", False),
    (r"no space left|not enough free space", "free some space in the pool's folder, or set another `libvirt.pool`",
     False),
    (r"cannot allocate memory|cannot set up guest memory", "the host has too little memory free for this machine",
     False),
    (r"unable to find any firmware|ovmf", "install OVMF on the host (package ovmf), or set `firmware: bios`", False),
    (r"swtpm socket did not show up", "the host is so busy that its TPM did not start within libvirt's second", True),
    (r"swtpm", "install swtpm on the host (packages swtpm, swtpm-tools), or set `tpm: false`", False),
    (r"cannot get interface mtu|bridge.*no such device|unable to add bridge|network (?:'.*' )?is not active",
     "the inventory's bridge or network does not exist: see `virsh net-list --all`, `ip link` on the host", False),
    (r"creating bridge interface.*operation not permitted", "qemu:///session may not make networks: use qemu:///system",
     False),
    (r"cannot acquire state change lock|still in use|being allocated|resource busy|asynchronous jobs? running",
     "something else is at work on it", True),
)  # fmt: skip
_RETRIED_CODES = (RPC, TIMED_OUT, BUSY)


class Interrupted(Temporary):
    """The connection broke in the middle: whether the call was executed is not known."""


def failure(what: str, error: Any) -> TalosmithError:
    """`error` is a `libvirt.libvirtError`."""
    code, text = code_of(error), str(error)
    message = f"{what}: {text.removeprefix('internal error: ')}"
    for pattern, hint, again in _TEXTS:
        if re.search(pattern, text, re.IGNORECASE):
            return Temporary(message, hint=hint, retry_after=3.0) if again else Permanent(message, hint=hint)
    if _BROKEN.search(text):
        return Interrupted(
            f"{what}: the connection to libvirt broke ({text})",
            hint="running the same command again finds out what was done, and goes on from there",
        )
    if code in _RETRIED_CODES:
        return Temporary(message, hint="libvirt may be restarting")
    if code in GONE:
        return Permanent(message, hint="plan again: the host has changed meanwhile")
    if code in (AUTH_FAILED, DENIED):
        return Permanent(message, hint="let the user into the group `libvirt` of the host, or use root")
    return Permanent(message, hint="the host's log says more: `journalctl -u libvirtd`, /var/log/libvirt/qemu/")


def code_of(error: Any) -> int:
    return int(error.get_error_code() or 0)
