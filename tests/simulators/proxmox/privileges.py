"""The privileges and the built-in roles of Proxmox VE 8 and 9."""

from __future__ import annotations

_COMMON = {
    "Datastore": ("Allocate", "AllocateSpace", "AllocateTemplate", "Audit"),
    "Group": ("Allocate",),
    "Mapping": ("Audit", "Modify", "Use"),
    "Permissions": ("Modify",),
    "Pool": ("Allocate", "Audit"),
    "Realm": ("Allocate", "AllocateUser"),
    "SDN": ("Allocate", "Audit", "Use"),
    "Sys": ("AccessNetwork", "Audit", "Console", "Incoming", "Modify", "PowerMgmt", "Syslog"),
    "User": ("Modify",),
    "VM": (
        "Allocate",
        "Audit",
        "Backup",
        "Clone",
        "Console",
        "Migrate",
        "PowerMgmt",
        "Snapshot",
        "Snapshot.Rollback",
    ),
    "VM.Config": ("CDROM", "CPU", "Cloudinit", "Disk", "HWType", "Memory", "Network", "Options"),
}
_AGENT = ("Audit", "FileRead", "FileSystemMgmt", "FileWrite", "Unrestricted")
CONFIG_PRIVILEGES = tuple(
    f"VM.Config.{what}" for what in ("Disk", "CDROM", "CPU", "Memory", "Network", "HWType", "Options", "Cloudinit")
)


def all_privileges(major: int) -> frozenset[str]:
    common = {f"{group}.{name}" for group, names in _COMMON.items() for name in names}
    if major >= 9:
        return frozenset(common | {"VM.Replicate"} | {f"VM.GuestAgent.{name}" for name in _AGENT})
    return frozenset(common | {"VM.Monitor"})


def agent_privileges(major: int) -> tuple[str, ...]:
    """Any of these lets a caller ask the guest agent."""
    return ("VM.GuestAgent.Audit", "VM.GuestAgent.Unrestricted") if major >= 9 else ("VM.Monitor",)


def builtin_roles(major: int) -> dict[str, frozenset[str]]:
    known = all_privileges(major)
    of_vms = frozenset(name for name in known if name.startswith("VM."))
    user = {"VM.Audit", "VM.Backup", "VM.Config.CDROM", "VM.Config.Cloudinit", "VM.Console", "VM.PowerMgmt"}
    user |= {name for name in of_vms if name.startswith("VM.GuestAgent.") and not name.endswith("Unrestricted")}
    return {
        "Administrator": known,
        "NoAccess": frozenset(),
        "PVEAdmin": known
        - {"Permissions.Modify", "Sys.Modify", "Sys.PowerMgmt", "Sys.AccessNetwork", "Realm.Allocate"},
        "PVEAuditor": frozenset(
            {"Datastore.Audit", "Mapping.Audit", "Pool.Audit", "SDN.Audit", "Sys.Audit", "VM.Audit"}
            | ({"VM.GuestAgent.Audit"} & known)
        ),
        "PVEDatastoreAdmin": frozenset(name for name in known if name.startswith("Datastore.")),
        "PVEDatastoreUser": frozenset({"Datastore.AllocateSpace", "Datastore.Audit"}),
        "PVEPoolAdmin": frozenset({"Pool.Allocate", "Pool.Audit"}),
        "PVEPoolUser": frozenset({"Pool.Audit"}),
        "PVESDNAdmin": frozenset({"SDN.Allocate", "SDN.Audit", "SDN.Use"}),
        "PVESDNUser": frozenset({"SDN.Audit", "SDN.Use"}),
        "PVESysAdmin": frozenset({"Sys.Audit", "Sys.Console", "Sys.Syslog"}),
        "PVEVMAdmin": of_vms,
        "PVEVMUser": frozenset(user),
    }
