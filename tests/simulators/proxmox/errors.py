"""How a call is refused: the status, the reason phrase and the body that Proxmox VE gives for each problem."""

from __future__ import annotations


class Refused(Exception):
    """An answer that is an error. `seconds` is the time that Proxmox VE takes; the pace scales the time."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        errors: dict[str, str] | None = None,
        empty: bool = False,
        plain: bool = False,
        seconds: float = 0.0,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = errors
        self.empty = empty  # no body at all, not even a Content-Length
        self.plain = plain  # the message as text, not as JSON
        self.seconds = seconds


class LockBusy(Exception):
    """The lock file of a VM is held: the call is tried again until the lock is free or patience runs out."""

    def __init__(self, vmid: int, patience: float, prefix: str = "") -> None:
        super().__init__(vmid)
        self.vmid = vmid
        self.patience = patience
        self.prefix = prefix


def failed(message: str) -> Refused:
    return Refused(500, message)


def invalid(**errors: str) -> Refused:
    return invalid_all(errors)


def invalid_all(errors: dict[str, str]) -> Refused:
    return Refused(400, "Parameter verification failed.", errors=errors)


def denied(path: str = "", *privileges: str) -> Refused:
    what = f" ({path}, {'|'.join(privileges)})" if path else ""
    return Refused(403, f"Permission check failed{what}")


def lock_timeout(vmid: int) -> str:
    return f"can't lock file '/var/lock/qemu-server/lock-{vmid}.conf' - got timeout"


def no_config(node: str, vmid: int) -> str:
    return f"Configuration file 'nodes/{node}/qemu-server/{vmid}.conf' does not exist"
