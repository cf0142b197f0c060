"""What this machine allows a real node. Recipes change a source only where the machine makes it necessary."""

from __future__ import annotations

from pathlib import Path

_CAP_SYS_ADMIN, _CAP_SYS_RESOURCE = 21, 24
_NEEDED_CONTROLLERS = {"cpu", "memory", "pids"}


def cgroup2() -> Path | None:
    """Where the cgroup v2 tree is mounted, if it is: alone, or beside version 1."""
    for mount in Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"):
        if (mount / "cgroup.procs").exists() and (mount / "cgroup.subtree_control").exists():
            return mount
    return None


def has_cgroup2_controllers() -> bool:
    """False where version 1 holds them, or a container was given none: then limits have no file to be written to."""
    mount = cgroup2()
    if mount is None:
        return False
    return set((mount / "cgroup.subtree_control").read_text().split()) >= _NEEDED_CONTROLLERS


def can_lower_oom_score() -> bool:
    """False where CAP_SYS_RESOURCE is not even in the bounding set, as in many containers and sandboxes."""
    return _has_capability("CapBnd", _CAP_SYS_RESOURCE)


def can_make_namespaces() -> bool:
    """Root has it, but for root in a container without privileges."""
    return _has_capability("CapEff", _CAP_SYS_ADMIN)


def _has_capability(kind: str, number: int) -> bool:
    try:
        status = Path("/proc/self/status").read_text()
    except FileNotFoundError:
        return False
    held = next(line.split()[1] for line in status.splitlines() if line.startswith(f"{kind}:"))
    return bool(int(held, 16) >> number & 1)
