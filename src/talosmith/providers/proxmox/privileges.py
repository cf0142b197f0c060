"""What a token must be allowed to do for these machines, worked out from what will be done, and what is missing.

A fixed list would be wrong: Proxmox VE 9 removed privileges that 8 had. Proxmox lists the effective privileges of a
token by path; a path without an entry has those of the nearest one above it that are passed on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from talosmith.model.machines import MachineSpec
from talosmith.providers.proxmox.options import vmid_of
from talosmith.providers.proxmox.settings import ProxmoxSettings

_VM = (
    "VM.Allocate", "VM.Audit", "VM.PowerMgmt", "VM.Config.CDROM", "VM.Config.CPU", "VM.Config.Disk",
    "VM.Config.HWType", "VM.Config.Memory", "VM.Config.Network", "VM.Config.Options",
)  # fmt: skip
_FILES = ("Datastore.Allocate", "Datastore.AllocateTemplate", "Datastore.Audit")  # to delete, upload and list
_DISKS = ("Datastore.AllocateSpace", "Datastore.Audit")
_LISTED = ("Datastore.Audit",)
Granted = Mapping[str, Mapping[str, int]]  # path -> privilege -> whether it is passed on to what is below
Needed = dict[str, set[str]]  # path -> privileges


@dataclass(frozen=True, slots=True)
class Missing:
    path: str
    privileges: tuple[str, ...]


def needed(settings: ProxmoxSettings, specs: Sequence[MachineSpec], *, linux_bridge: bool = True) -> Needed:
    """For these machines, from their creation to their end."""
    section, wanted = settings.section, Needed()
    if not specs:
        return wanted

    def want(where: str, *privileges: str) -> None:
        wanted.setdefault(where, set()).update(privileges)

    boots = [settings.boot(spec) for spec in specs]
    if section.start_order is not None:
        want("/", "Sys.Modify")
    for spec in specs:
        vms = f"/pool/{section.pool}" if section.pool else f"/vms/{vmid_of(spec)}"
        want(vms, *_VM, *(("Pool.Audit",) if section.pool else ()))
    if any(boot.template for boot in boots):
        want("/vms", "VM.Audit", "VM.Clone")
    if any(boot.kind == "template" and not boot.template for boot in boots):
        want(f"/pool/{section.pool}" if section.pool else "/vms", *_VM, "VM.Clone")
    want(f"/storage/{section.datastore}", *_DISKS)
    if section.seed or any(boot.source for boot in boots):
        want(f"/storage/{section.iso_storage}", *_FILES)
    if any(boot.source and not boot.source.iso for boot in boots):
        want(f"/storage/{settings.section.images_in}", *_FILES)
    for boot in boots:
        if boot.volume:
            want(f"/storage/{boot.volume.partition(':')[0]}", *_LISTED)
    if linux_bridge:
        vlan = f"/{section.vlan}" if section.vlan else ""
        want(f"/sdn/zones/localnetwork/{section.bridge}{vlan}", "SDN.Use")
    return wanted


def missing(granted: Granted, wanted: Needed) -> list[Missing]:
    found = []
    for where, privileges in sorted(wanted.items()):
        lacking = privileges - effective(granted, where)
        if lacking:
            found.append(Missing(where, tuple(sorted(lacking))))
    return found


def effective(granted: Granted, where: str) -> set[str]:
    """Of the path itself, or of the nearest one above it that has an entry."""
    if where in granted:
        return set(granted[where])
    above = where
    while above != "/":
        above = above.rpartition("/")[0] or "/"
        if above in granted:
            return {name for name, passed_on in granted[above].items() if passed_on}
    return set()


def listed(lacking: Sequence[Missing]) -> str:
    """Paths that lack the same together: `VM.Allocate on /vms/2000, /vms/3000`."""
    paths: dict[tuple[str, ...], list[str]] = {}
    for one in lacking:
        paths.setdefault(one.privileges, []).append(one.path)
    return "; ".join(f"{', '.join(names)} on {', '.join(where)}" for names, where in paths.items())


def commands(lacking: Sequence[Missing], wanted: Needed, token: str) -> list[str]:
    """That grant this, to be run on the host as root. With privilege separation a token has what both its user and
    the token itself are granted.

    All that is wanted on a path is granted, not only what lacks: an entry of a path replaces what the path has from
    the one above it.
    """
    lines = []
    for role, where, privileges in _grants(lacking, wanted):
        names = ",".join(privileges)
        lines.append(f"pveum role add {role} --privs {names} || pveum role modify {role} --privs {names} --append 1")
        user = token.partition("!")[0]
        if user != "root@pam":
            lines.append(f"pveum acl modify {where} --users {user} --roles {role}")
        lines.append(f"pveum acl modify {where} --tokens '{token}' --roles {role}")
    return lines


def _grants(lacking: Sequence[Missing], wanted: Needed) -> Iterable[tuple[str, str, list[str]]]:
    """One role for each kind of path; VMs together, for their VMIDs need not exist yet."""
    grants: dict[tuple[str, str], set[str]] = {}
    for one in lacking:
        kind = one.path.split("/")[1]
        role, where = {
            "vms": ("TalosmithVMs", "/vms"),
            "pool": (f"TalosmithPool-{one.path.rpartition('/')[2]}", one.path),
            "storage": (f"TalosmithStorage-{one.path.rpartition('/')[2]}", one.path),
            "sdn": ("TalosmithNetwork", "/sdn/zones/localnetwork"),
        }.get(kind, ("TalosmithSystem", one.path or "/"))
        grants.setdefault((role, where), set()).update(wanted[one.path])
    for (role, where), privileges in sorted(grants.items()):
        yield role, where, sorted(privileges)
