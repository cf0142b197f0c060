"""What Proxmox VE says when something is wrong, in our two words, with the way out.

Nearly every error is a 500 whose reason phrase is the message, and many come only at the end of a task: the text
decides, wherever it comes from.
"""

from __future__ import annotations

import re

from talosmith.errors import Permanent, TalosmithError, Temporary

_LOCKED = 5.0  # seconds until a lock is worth another try
_NOT_PROXMOX = (*range(300, 400), 404, 405)  # the API has none of these
PROXY_STATUS = (502, 503, 504, 595, 596, 599)  # of a server that passes calls on: to another node, or a service

# text, hint, whether trying again may help
_TEXTS: tuple[tuple[str, str, bool], ...] = (
    (
        r"can't lock file|trying to acquire c?fs lock|got lock request timeout",
        "another task of Proxmox works on it",
        True,
    ),
    (
        r"VM is locked \((\w+)\)",
        "wait for the end of the task that works on it; `qm unlock <vmid>` on the host if there is none",
        True,
    ),
    (
        r"access control list: Connection refused|ipcc_send_rec|pmxcfs",
        "the cluster filesystem of Proxmox does not run: `systemctl status pve-cluster` on the host",
        True,
    ),
    (r"no quorum", "the Proxmox cluster has no quorum: `pvecm status` on a host", True),
    (
        r"unexpected status|get last line from task log|start worker failed|received interrupt|interrupted by",
        "the task was cut off on the host; running the same command again finds out what it did",
        True,
    ),
    (r"file change by other user", "the VM was changed meanwhile", True),
    (r"is running - destroy failed", "the VM was started meanwhile", True),
    (r"checksum mismatch: got", "the upload was damaged on its way", True),
    (
        r"hostname lookup '([^']*)' failed|no such cluster node",
        "the Proxmox node does not exist: correct `proxmox.node` or `proxmox.hosts`",
        False,
    ),
    (
        r"storage '([^']*)' does not exist|No such storage",
        "correct `datastore`, `iso_storage` or `image_storage`: `pvesm status` on the host lists all",
        False,
    ),
    (
        r"is not available on node|storage '[^']*' is disabled|is not online",
        "switch the storage on: `pvesm status` on the host",
        False,
    ),
    (
        r"does not support '(\w+)' content|does not allow content type",
        "allow the content type: Datacenter → Storage → Edit → Content, or `pvesm set`",
        False,
    ),
    (
        r"no space left|not enough free space|insufficient free space|disk quota|thin pool.*full",
        "free some space on the storage, or set another one",
        False,
    ),
    (
        r"bridge '([^']*)' does not exist|pve-bridge|netdev_add",
        "correct `proxmox.bridge`: System → Network of the Proxmox node lists all",
        False,
    ),
    (
        r"KVM virtualisation configured, but not available",
        "switch virtualisation on in the firmware of the host",
        False,
    ),
    (
        r"protection mode enabled",
        "the VM is protected: Options → Protection in Proxmox, then run the same again",
        False,
    ),
    (r"only root can", "a token cannot do this, not even one of root@pam", False),
    (
        r"pool '([^']*)' does not exist",
        "create the pool (Datacenter → Permissions → Pools), or correct `proxmox.pool`",
        False,
    ),
    (r"still in use by linked clone", "VMs are linked clones of this template: delete them first", False),
    (
        r"Permission check failed",
        "`talosmith doctor` lists what the token may not do, with the commands that allow it",
        False,
    ),
    (
        r"failed to stat|no such (?:file|volume)|volume '[^']*' does not exist",
        "the file was deleted from the storage: run the same again, or upload the file",
        False,
    ),
    (r"quit/powerdown failed - got timeout", "the machine did not shut down in time", True),
)

_GONE = re.compile(r"Configuration file '[^']*' does not exist|unable to find configuration file|no such VM", re.I)
_TAKEN = re.compile(r"VM \d+ already exists|config file already exists", re.I)


class Interrupted(Temporary):
    """The connection broke in the middle: whether the call was executed is not known."""


class Unanswered(Temporary):
    """The server has passed the call on to another Proxmox node or service, which does not answer."""


class Refused(Permanent):
    """The server does not accept the token."""


class NotTrusted(Permanent):
    """The server's certificate is not vouched for. `fingerprint` is the one shown."""

    def __init__(self, what: str, *, hint: str, fingerprint: str = "") -> None:
        super().__init__(what, hint=hint)
        self.fingerprint = fingerprint


class Gone(Permanent):
    """The VM does not exist, or not on this Proxmox node."""


class Taken(Permanent):
    """A VM with this VMID exists."""


class Denied(Permanent):
    """The token lacks a privilege; `message` names path and privilege, unless Proxmox does not."""


def failure(what: str, message: str, status: int = 0) -> TalosmithError:
    """`message`: of the reason phrase, the answer's body, or the end of a task."""
    message = message.strip() or f"status {status}"
    text = f"{what}: {message}"
    if status == 401:
        return Refused(
            f"Proxmox VE does not accept the API token: {message}",
            hint="the token may be wrong, deleted or expired: `pveum user token list <user>` on the host",
        )
    if _TAKEN.search(message):
        return Taken(text, hint="another VM has this VMID: set `vmid` of the node, or `proxmox.vmid_base`")
    if _GONE.search(message):
        return Gone(text, hint="plan again: Proxmox has changed meanwhile")
    if status in PROXY_STATUS:
        hint = "the Proxmox node, or a service on it (pvedaemon, pveproxy), does not answer"
        return Unanswered(text, hint=hint, retry_after=2.0)
    for pattern, hint, again in _TEXTS:
        if re.search(pattern, message, re.IGNORECASE):
            if again:
                return Temporary(text, hint=hint, retry_after=_LOCKED)
            kind = Denied if "Permission check failed" in message and "pool '" not in message else Permanent
            return kind(text, hint=hint)
    if status == 501 or status in _NOT_PROXMOX:
        hint = (
            "`proxmox.url` is the address of the API alone, such as https://192.168.1.10:8006; Proxmox VE 8 or newer"
        )
        return Permanent(text, hint=hint)
    return Permanent(text, hint="the task log of the Proxmox node says more")
