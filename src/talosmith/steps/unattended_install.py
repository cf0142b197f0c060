"""How far Talos is with installing itself, from 1.14 on: it answers with the cluster's certificate meanwhile.

Until it has rebooted from its disk, nothing that a node is told lasts, and it refuses to bootstrap etcd.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from talosmith.steps.install_disk import missing_disk
from talosmith.talos import Denied, NotFound, NotReady, TalosNode, Unsupported

_STATUS = "unattendedinstallstatuses"
_PENDING_FOR = 60.0  # seconds: disks may be found late, but not later


async def check_installation(node: TalosNode, waited: float) -> None:
    """Raise `NotReady` until Talos runs from its disk, `Permanent` if no disk matches after a while."""
    # Talos before 1.14 does not know the kind; in containers and without an UnattendedInstallConfig there is none.
    with suppress(NotFound, Denied, Unsupported):
        spec = (await node.get(_STATUS, "unattended-install")).spec
        phase, problem = _read(spec)
        if phase == "installed":
            return
        if phase == "pending" and problem and waited > _PENDING_FOR:
            raise await missing_disk(node, f"install disk does not exist ({problem})")
        reason = f"installation is {phase}" + (f" ({problem})" if problem else "")
        raise NotReady(node.name, reason)


def _read(spec: object) -> tuple[str, str]:
    """Phase and error; Talos leaves out the first of the phases, as it is the empty one."""
    if not isinstance(spec, Mapping):
        return "pending", ""
    return str(spec.get("phase") or "pending"), str(spec.get("error") or "")
