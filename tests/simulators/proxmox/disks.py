"""Disks of VMs in tasks: new disks, imports, copies, with the lines that the tools write to the log."""

from __future__ import annotations

from .errors import failed
from .model import VM, Storage, Volume
from .tasks import Body, Interrupted, Task, TaskFailed
from .vm_config import Drive
from .volumes import file_path, head_of, is_qcow2, size_text, virtual_size
from .world import Proxmox

EFI_DISK = 540672
TPM_DISK = 4 * 1024 * 1024
_LARGEST_RAW = 8 * 1024**5
_STEPS = 8
_QCOW2 = "compression_type=zlib size={size} lazy_refcounts=off refcount_bits=16"


def allocate(world: Proxmox, node: str, storage: Storage, vmid: int, size: int, format_: str) -> Volume:
    """A volume of the next free name."""
    chosen = format_ if storage.keeps_files else "raw"
    name = world.volumes.disk_name(storage, node, vmid, chosen)
    place = "" if storage.shared else node
    volume = Volume(f"{storage.name}:{name}", "images", chosen, size, place, int(world.now()), size, vmid=vmid)
    world.volumes.put(volume)
    _take(world, volume, 4096)
    return volume


def free(world: Proxmox, volume: Volume) -> None:
    world.volumes.drop(volume)
    storage = world.storages.get(volume.storage)
    if storage:
        storage.avail += volume.used


def write(world: Proxmox, volume: Volume, size: int) -> None:
    """So many bytes are taken from the storage. Raises when there is no room."""
    storage = world.storages[volume.storage]
    if storage.full or size > storage.avail:
        raise NoRoom
    _take(world, volume, size)


def _take(world: Proxmox, volume: Volume, size: int) -> None:
    world.storages[volume.storage].avail -= size
    volume.used += size


class NoRoom(Exception):
    """The storage is full."""


def formatting(world: Proxmox, volume: Volume, base: Volume | None = None) -> str:
    storage = world.storages[volume.storage]
    if not storage.keeps_files:
        return f'  Logical volume "{volume.name}" created.'
    head = f"Formatting '{world.path_of(volume)}', fmt={volume.format} "
    if volume.format != "qcow2":
        return head + f"size={volume.virtual_size} preallocation=off"
    if base is None:
        return (
            head
            + "cluster_size=65536 extended_l2=off preallocation=metadata "
            + _QCOW2.format(size=volume.virtual_size)
        )
    backing = f"size={volume.virtual_size} backing_file=../{base.name} backing_fmt={base.format}"
    preallocation = "metadata" if base.format == "qcow2" else "off"
    tail = f"{backing} lazy_refcounts=off refcount_bits=16"
    return head + f"cluster_size=131072 extended_l2=on preallocation={preallocation} compression_type=zlib {tail}"


def create_disk(world: Proxmox, task: Task, vm: VM, one: Drive, made: list[Volume]) -> Body:
    """A new disk of `STORAGE:GIB`; the drive then names the volume."""
    storage_name, _, gib = one.file.rpartition(":")
    storage = world.storages[storage_name or "local"]
    size = {"efidisk0": EFI_DISK, "tpmstate0": TPM_DISK}.get(one.option, int(float(gib) * 1024**3))
    size -= size % 1024
    format_ = one.properties.pop("format", "raw")
    volume = allocate(world, vm.node, storage, vm.vmid, size, format_)
    task.say(formatting(world, volume))
    made.append(volume)
    if size > _LARGEST_RAW:
        path = world.path_of(volume)
        raise TaskFailed(
            f"unable to create image: qemu-img: {path}: The image size is too large for file format 'raw'"
        )
    if storage.full:
        raise TaskFailed(f"unable to create image: qemu-img: {world.path_of(volume)}: No space left on device")
    if one.option == "efidisk0":
        task.say(*_transferred(size, (0.0, 1.0, 1.0)))
        _take(world, volume, size)
    yield 0.0
    _name(one, volume)
    task.say(f"{one.option}: successfully created disk '{one}'")


def import_disk(world: Proxmox, task: Task, vm: VM, one: Drive, made: list[Volume]) -> Body:
    """A copy of an image, in the same format where the storage supports the format."""
    source_id = one.properties.pop("import-from")
    source = world.volumes.find(source_id, vm.node)
    if source is None:
        storage = world.storages[source_id.partition(":")[0]]
        raise TaskFailed(f"failed to stat '{_path(storage, source_id)}'")
    head = head_of(source)
    size = source.virtual_size or virtual_size(head, source.size)
    storage = world.storages[one.storage]
    format_ = one.properties.pop("format", "qcow2" if source.format == "qcow2" or is_qcow2(head) else "raw")
    task.say(f"create full clone of drive ({source_id})")
    volume = allocate(world, vm.node, storage, vm.vmid, size, format_)
    volume.origin = source
    made.append(volume)
    task.say(formatting(world, volume), f"allocated target volume '{volume.volid}'")
    command = _convert(world, source, volume, storage)
    try:
        yield from copy(world, task, volume, min(source.size, size), size)
    except Interrupted as problem:
        why = f"copy failed: command '{command}' failed: received interrupt"
        raise TaskFailed(f"cannot import from '{source_id}' - {why}") from problem
    except NoRoom as problem:
        task.say("qemu-img: error while writing at byte 0: No space left on device")
        why = f"copy failed: command '{command}' failed: exit code 1"
        raise TaskFailed(f"cannot import from '{source_id}' - {why}") from problem
    _name(one, volume)
    task.say(f"{one.option}: successfully created disk '{one}'")


def _path(storage: Storage, volid: str) -> str:
    return file_path(storage, volid.partition(":")[2])


def _convert(world: Proxmox, source: Volume, target: Volume, storage: Storage) -> str:
    rate = f"-r {storage.bandwidth}K " if storage.bandwidth else ""
    formats = f"-f {source.format} -O {target.format}"
    return f"/usr/bin/qemu-img convert -p -n {rate}{formats} {world.path_of(source)} zeroinit:{world.path_of(target)}"


def copy(world: Proxmox, task: Task, volume: Volume, data: int, size: int) -> Body:
    """The contents of an image are written, at the speed of the storage."""
    write(world, volume, data)
    storage = world.storages[volume.storage]
    bandwidth = storage.bandwidth * 1024 if storage.bandwidth else world.pace.bandwidth
    for step in range(_STEPS):
        task.say(*_transferred(size, (step / _STEPS,)))
        yield data / bandwidth / _STEPS
    task.say(*_transferred(size, (1.0, 1.0)))


def _transferred(size: int, shares: tuple[float, ...]) -> list[str]:
    return [f"transferred {_human(size * share)} of {_human(size)} ({share * 100:.2f}%)" for share in shares]


def _human(size: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.1f} {unit}"


def _name(one: Drive, volume: Volume) -> None:
    one.file = volume.volid
    one.properties["size"] = size_text(volume.virtual_size)


def attach(world: Proxmox, vm: VM, one: Drive) -> None:
    """An existing volume."""
    if one.file in ("none", "cdrom"):
        return
    volume = world.volumes.find(one.file, vm.node)
    if volume is None:
        raise TaskFailed(f"volume '{one.file}' does not exist")
    one.properties["size"] = size_text(volume.virtual_size or volume.size)


def cloud_init(world: Proxmox, vm: VM, one: Drive) -> None:
    storage = world.storages.get(one.storage)
    if storage is None:
        raise failed(f"storage '{one.storage}' does not exist")
    extension = ".qcow2" if storage.keeps_files else ""
    name = f"{vm.vmid}/vm-{vm.vmid}-cloudinit{extension}" if extension else f"vm-{vm.vmid}-cloudinit"
    size = 4 * 1024 * 1024
    place = "" if storage.shared else vm.node
    format_ = "qcow2" if extension else "raw"
    world.volumes.put(
        Volume(f"{storage.name}:{name}", "images", format_, size, place, int(world.now()), size, size, vm.vmid)
    )
    one.file = f"{storage.name}:{name}"
    one.properties["media"] = "cdrom"
