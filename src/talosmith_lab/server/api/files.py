"""Files of a node: the few that clients read. There is no real file system behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator

from grpclib.const import Status

from talosmith.talos.proto import common_pb2
from talosmith.talos.proto import machine_pb2 as pb
from talosmith_lab import naming
from talosmith_lab.server.archive import packed
from talosmith_lab.server.methods import Call, answers, fail
from talosmith_lab.versions import line_of

_ETCD_DATA = "/var/lib/etcd"  # there on every configured node, empty until it is a member


@answers("machine.MachineService/Read")
async def read(call: Call, request: pb.ReadRequest) -> AsyncIterator[common_pb2.Data]:
    found = _files(call).get(request.path)
    if found is None:
        raise fail(Status.NOT_FOUND, f"stat {request.path}: no such file or directory")
    yield common_pb2.Data(bytes=found.encode())


@answers("machine.MachineService/List")
async def list_files(call: Call, request: pb.ListRequest) -> AsyncIterator[pb.FileInfo]:
    found = _under(call, request.root)
    root = "/" + request.root.strip("/")
    if not found and root != _ETCD_DATA:
        yield pb.FileInfo(name=root, relative_name=root, error=f"lstat {root}: no such file or directory")
        return
    yield pb.FileInfo(name=root, relative_name=".", is_dir=root not in found, mode=0o755)
    for path, text in sorted(found.items()):
        if path != root:
            yield pb.FileInfo(name=path, relative_name=_relative(path, root), size=len(text), mode=0o444)


@answers("machine.MachineService/DiskUsage")
async def usage(call: Call, request: pb.DiskUsageRequest) -> AsyncIterator[pb.DiskUsageInfo]:
    for root in request.paths:
        found = _under(call, root)
        for path, text in sorted(found.items()) if request.all else ():
            yield pb.DiskUsageInfo(name=path, relative_name=_relative(path, root), size=len(text))
        yield pb.DiskUsageInfo(name=root, relative_name=".", size=sum(map(len, found.values())))


@answers("machine.MachineService/Copy")
async def copy(call: Call, request: pb.CopyRequest) -> AsyncIterator[common_pb2.Data]:
    found = _under(call, request.root_path)
    if not found:
        raise fail(Status.NOT_FOUND, f"lstat {request.root_path}: no such file or directory")
    files = {_relative(path, request.root_path): text.encode() for path, text in sorted(found.items())}
    yield common_pb2.Data(bytes=packed(files))


def _under(call: Call, root: str) -> dict[str, str]:
    root = "/" + root.strip("/")
    return {
        path: text for path, text in _files(call).items() if path == root or path.startswith(root.rstrip("/") + "/")
    }


def _relative(path: str, root: str) -> str:
    return path.removeprefix("/" + root.strip("/")).lstrip("/") or path.rpartition("/")[2]


def _files(call: Call) -> dict[str, str]:
    run = call.machine.run
    if run is None:
        return {}
    has_etcd = call.machine.system is not None and call.machine.system.etcd is not None
    return {
        **({f"{_ETCD_DATA}/member/snap/db": ""} if has_etcd else {}),
        "/proc/sys/kernel/random/boot_id": run.boot_id + "\n",
        "/proc/version": f"Linux version {line_of(run.version).kernel}-talos\n",
        "/proc/uptime": f"{call.world.now() - run.since:.2f} 0.00\n",
        "/etc/hostname": naming.hostname(call.world, call.machine) + "\n",
        "/etc/os-release": f'NAME="Talos"\nID=talos\nVERSION_ID={run.version}\nPRETTY_NAME="Talos ({run.version})"\n',
    }
