"""Files of a node: the few that clients read. There is no real file system behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator

from grpclib.const import Status

from talosmith.lab import naming
from talosmith.lab.server.methods import Call, answers, fail
from talosmith.lab.versions import line_of
from talosmith.talos.proto import common_pb2
from talosmith.talos.proto import machine_pb2 as pb


@answers("machine.MachineService/Read")
async def read(call: Call, request: pb.ReadRequest) -> AsyncIterator[common_pb2.Data]:
    found = _files(call).get(request.path)
    if found is None:
        raise fail(Status.NOT_FOUND, f"stat {request.path}: no such file or directory")
    yield common_pb2.Data(bytes=found.encode())


@answers("machine.MachineService/List")
async def list_files(call: Call, request: pb.ListRequest) -> AsyncIterator[pb.FileInfo]:
    root = "/" + request.root.strip("/")
    found = {
        path: text for path, text in _files(call).items() if path == root or path.startswith(root.rstrip("/") + "/")
    }
    if not found:
        yield pb.FileInfo(name=root, relative_name=root, error=f"lstat {root}: no such file or directory")
        return
    yield pb.FileInfo(name=root, relative_name=".", is_dir=root not in found, mode=0o755)
    for path, text in sorted(found.items()):
        if path != root:
            yield pb.FileInfo(name=path, relative_name=path[len(root) :].lstrip("/"), size=len(text), mode=0o444)


def _files(call: Call) -> dict[str, str]:
    run = call.machine.run
    if run is None:
        return {}
    return {
        "/proc/sys/kernel/random/boot_id": run.boot_id + "\n",
        "/proc/version": f"Linux version {line_of(run.version).kernel}-talos\n",
        "/proc/uptime": f"{call.world.now() - run.since:.2f} 0.00\n",
        "/etc/hostname": naming.hostname(call.world, call.machine) + "\n",
        "/etc/os-release": f'NAME="Talos"\nID=talos\nVERSION_ID={run.version}\nPRETTY_NAME="Talos ({run.version})"\n',
    }
