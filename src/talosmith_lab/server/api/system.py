"""What the machine is and how it is doing. Load and memory are of a machine that has little to do."""

from __future__ import annotations

from google.protobuf.timestamp_pb2 import Timestamp
from grpclib.const import Status

from talosmith.talos.proto import machine_pb2 as pb
from talosmith.talos.proto import storage_pb2, time_pb2
from talosmith_lab import naming
from talosmith_lab.clock import fraction
from talosmith_lab.machine import Machine
from talosmith_lab.server.methods import Call, answers, fail

_MIB = 1024**2
_NODE_GO = "go1.26.0"


def running_version(machine: Machine) -> str:
    return machine.run.version if machine.run else machine.version


@answers("machine.MachineService/Version")
def version(call: Call, request: object) -> pb.VersionResponse:
    mode = "metal" if call.machine.platform == "metal" else "cloud"
    return pb.VersionResponse(
        messages=[
            pb.Version(
                version=pb.VersionInfo(
                    tag=running_version(call.machine),
                    sha="lab",
                    go_version=_NODE_GO,
                    os="linux",
                    arch=call.machine.arch,
                ),
                platform=pb.PlatformInfo(name=call.machine.platform, mode=mode),
                features=None if call.maintenance else pb.FeaturesInfo(rbac=True),
            )
        ]
    )


@answers("machine.MachineService/Hostname")
def hostname(call: Call, request: object) -> pb.HostnameResponse:
    return pb.HostnameResponse(messages=[pb.Hostname(hostname=naming.hostname(call.world, call.machine))])


@answers("machine.MachineService/LoadAvg")
def load(call: Call, request: object) -> pb.LoadAvgResponse:
    share = fraction(call.machine.uuid, call.machine.boots)
    return pb.LoadAvgResponse(messages=[pb.LoadAvg(load1=share, load5=share / 2, load15=share / 3)])


@answers("machine.MachineService/Memory")
def memory(call: Call, request: object) -> pb.MemoryResponse:
    total = call.machine.memory_mib * 1024
    info = pb.MemInfo(
        memtotal=total,
        memfree=total // 2,
        memavailable=total * 2 // 3,
        buffers=total // 50,
        cached=total // 6,
        active=total // 5,
        inactive=total // 8,
        commitlimit=total // 2,
        committedas=total // 3,
    )
    return pb.MemoryResponse(messages=[pb.Memory(meminfo=info)])


@answers("machine.MachineService/SystemStat")
def system_stat(call: Call, request: object) -> pb.SystemStatResponse:
    run = call.machine.run
    up = call.world.now() - (run.since if run else call.world.now())
    cpu = pb.CPUStat(user=up * 0.02, system=up * 0.01, idle=up * 0.97)
    total = pb.CPUStat(
        user=cpu.user * call.machine.cpu, system=cpu.system * call.machine.cpu, idle=cpu.idle * call.machine.cpu
    )
    stat = pb.SystemStat(
        boot_time=int(run.since if run else 0),
        cpu_total=total,
        cpu=[cpu] * call.machine.cpu,
        context_switches=int(up * 500),
        process_created=200,
        process_running=1,
    )
    return pb.SystemStatResponse(messages=[stat])


@answers("machine.MachineService/CPUInfo")
def cpu_info(call: Call, request: object) -> pb.CPUInfoResponse:
    cpus = [
        pb.CPUInfo(
            processor=number, vendor_id="talosmith", model_name="Lab CPU", cpu_mhz=2000, cpu_cores=call.machine.cpu
        )
        for number in range(call.machine.cpu)
    ]
    return pb.CPUInfoResponse(messages=[pb.CPUsInfo(cpu_info=cpus)])


@answers("machine.MachineService/CPUFreqStats")
def cpu_frequency(call: Call, request: object) -> pb.CPUFreqStatsResponse:
    return pb.CPUFreqStatsResponse(messages=[pb.CPUsFreqStats()])


@answers("machine.MachineService/NetworkDeviceStats")
def network_stats(call: Call, request: object) -> pb.NetworkDeviceStatsResponse:
    stats = pb.NetworkDeviceStats(
        total=pb.NetDev(name="total"), devices=[pb.NetDev(name="lo"), pb.NetDev(name="eth0")]
    )
    return pb.NetworkDeviceStatsResponse(messages=[stats])


@answers("machine.MachineService/DiskStats")
def disk_stats(call: Call, request: object) -> pb.DiskStatsResponse:
    devices = [pb.DiskStat(name=disk.name) for disk in call.machine.disks]
    return pb.DiskStatsResponse(messages=[pb.DiskStats(total=pb.DiskStat(name="total"), devices=devices)])


@answers("machine.MachineService/Processes")
def processes(call: Call, request: object) -> pb.ProcessesResponse:
    services = call.machine.run.services if call.machine.run else {}
    running = ["init", *(name for name, service in sorted(services.items()) if service.state == "Running")]
    found = [
        pb.ProcessInfo(
            pid=number * 100 + 1,
            ppid=1 if number else 0,
            state="S",
            threads=8,
            cpu_time=1.5,
            virtual_memory=64 * _MIB,
            resident_memory=32 * _MIB,
            command=name,
            executable=f"/usr/bin/{name}",
            args=f"/usr/bin/{name}",
        )
        for number, name in enumerate(running)
    ]
    return pb.ProcessesResponse(messages=[pb.Process(processes=found)])


@answers("machine.MachineService/Mounts")
def mounts(call: Call, request: object) -> pb.MountsResponse:
    stats = [pb.MountStat(filesystem="rootfs", size=64 * _MIB, available=0, mounted_on="/")]
    if call.machine.system is not None:
        device = call.machine.system.device
        stats.append(
            pb.MountStat(filesystem=f"{device}3", size=100 * _MIB, available=90 * _MIB, mounted_on="/system/state")
        )
        size = call.machine.disks[0].size
        left = 0 if call.world.active("full-disk", call.machine.name) else size // 2
        stats.append(pb.MountStat(filesystem=f"{device}4", size=size, available=left, mounted_on="/var"))
    return pb.MountsResponse(messages=[pb.Mounts(stats=stats)])


@answers("storage.StorageService/Disks")
def disks(call: Call, request: object) -> storage_pb2.DisksResponse:
    system = call.machine.system.device if call.machine.system else ""
    found = [
        storage_pb2.Disk(
            size=disk.size,
            model=disk.model,
            device_name=disk.device,
            serial=disk.serial,
            type=storage_pb2.Disk.DiskType.HDD,
            bus_path=f"/virtio/{disk.name}",
            system_disk=disk.device == system,
            subsystem="/sys/class/block",
        )
        for disk in call.machine.disks
    ]
    return storage_pb2.DisksResponse(messages=[storage_pb2.Disks(disks=found)])


@answers("storage.StorageService/BlockDeviceWipe")
def wipe(call: Call, request: storage_pb2.BlockDeviceWipeRequest) -> storage_pb2.BlockDeviceWipeResponse:
    by_name = {disk.name: disk for disk in call.machine.disks}
    system = call.machine.system.device.removeprefix("/dev/") if call.machine.system else ""
    for one in request.devices:
        if one.device not in by_name:
            raise fail(Status.NOT_FOUND, f"blockdevice {one.device!r} not found")
        if one.device == system and not one.skip_volume_check:
            raise fail(Status.FAILED_PRECONDITION, f"blockdevice {one.device!r} is in use by volume EPHEMERAL")
    for one in request.devices:
        by_name[one.device].written = False
    call.world.touch(call.machine)
    call.engine.commit()
    return storage_pb2.BlockDeviceWipeResponse(messages=[storage_pb2.BlockDeviceWipe()])


@answers("time.TimeService/Time")
def time(call: Call, request: object) -> time_pb2.TimeResponse:
    config = call.world.config(call.machine)
    server = config.time_servers[0] if config else "time.cloudflare.com"
    return _times(call, server)


@answers("time.TimeService/TimeCheck")
def time_check(call: Call, request: time_pb2.TimeRequest) -> time_pb2.TimeResponse:
    return _times(call, request.server)


def _times(call: Call, server: str) -> time_pb2.TimeResponse:
    here = timestamp(call.world.clock_of(call.machine))
    there = timestamp(call.world.now())
    return time_pb2.TimeResponse(messages=[time_pb2.Time(server=server, localtime=here, remotetime=there)])


def timestamp(at: float) -> Timestamp:
    seconds = int(at)
    return Timestamp(seconds=seconds, nanos=int((at - seconds) * 1e9))
