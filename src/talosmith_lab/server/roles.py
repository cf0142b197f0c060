"""Which roles may call what. A method that is not here is for administrators alone."""

from __future__ import annotations

ADMIN, OPERATOR, READER, BACKUP = "os:admin", "os:operator", "os:reader", "os:etcd:backup"
_MACHINE = "/machine.MachineService/"

_READ = frozenset({ADMIN, OPERATOR, READER})
_OPERATE = frozenset({ADMIN, OPERATOR})
_ETCD_READ = frozenset({ADMIN, OPERATOR, READER, BACKUP})
_NAMES = {
    _READ: "CPUInfo CPUFreqStats Containers DiskStats DiskUsage Dmesg Events Hostname ImageList List LoadAvg Logs "
    "LogsContainers Memory Mounts NetworkDeviceStats Netstat Processes ServiceList Stats SystemStat Version",
    _OPERATE: "EtcdAlarmDisarm EtcdDefragment ImagePull PacketCapture Reboot Restart ServiceRestart ServiceStart "
    "ServiceStop Shutdown",
    _ETCD_READ: "EtcdAlarmList EtcdMemberList EtcdStatus",
    frozenset({ADMIN, OPERATOR, BACKUP}): "EtcdSnapshot",
    frozenset({ADMIN, "os:meta:writer"}): "MetaWrite MetaDelete",
}
ALLOWED: dict[str, frozenset[str]] = {
    **{_MACHINE + name: roles for roles, names in _NAMES.items() for name in names.split()},
    "/cluster.ClusterService/HealthCheck": _READ,
    "/inspect.InspectService/ControllerRuntimeDependencies": _READ,
    "/machine.ImageService/List": _READ,
    "/machine.ImageService/Pull": _OPERATE,
    "/machine.ImageService/Verify": _READ | {"os:image:verifier"},
    "/cosi.resource.State/Get": _READ,
    "/cosi.resource.State/List": _READ,
    "/cosi.resource.State/Watch": _READ,
    "/storage.StorageService/Disks": _READ,
    "/time.TimeService/Time": _READ,
    "/time.TimeService/TimeCheck": _READ,
}
# Every client that reaches a node in maintenance mode is a reader there, and readers may do this too.
IN_MAINTENANCE = frozenset({_MACHINE + "ApplyConfiguration", "/storage.StorageService/BlockDeviceWipe"})


def may(roles: frozenset[str], method: str, *, maintenance: bool) -> bool:
    if maintenance and method in IN_MAINTENANCE:
        return True
    return bool(roles & ALLOWED.get(method, frozenset({ADMIN})))
