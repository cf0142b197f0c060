"""A node's disks: which one Talos is installed on, encryption, further volumes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from talosmith.desired.config.generate_documents import install_document
from talosmith.desired.config.install_disks import match_expression
from talosmith.model.cluster import Node
from talosmith.model.disks import DiskDevice, DiskSerial
from talosmith.model.settings import Volume

SINCE_VOLUMES = (1, 10)  # UserVolumeConfig
SINCE_VOLUME_ENCRYPTION = (1, 11)  # VolumeConfig.encryption
SINCE_INSTALL_DOCUMENT = (1, 14)  # UnattendedInstallConfig
_BY_TPM = {"provider": "luks2", "keys": [{"slot": 0, "tpm": {}}]}
_ENCRYPTED = ("STATE", "EPHEMERAL")

Document = dict[str, Any]


def storage_fields(node: Node, talos: tuple[int, int], installer: str) -> dict[str, Any]:
    """What stands in the `machine` section."""
    fields: dict[str, Any] = {}
    if talos < SINCE_INSTALL_DOCUMENT:
        fields["install"] = {**_install_disk(node), "image": installer}
    if node.encrypt_disk and talos < SINCE_VOLUME_ENCRYPTION:
        fields["systemDiskEncryption"] = {name.lower(): _BY_TPM for name in _ENCRYPTED}
    if node.volumes and talos < SINCE_VOLUMES:
        fields["disks"] = [
            {"device": str(volume.disk), "partitions": [{"mountpoint": f"/var/mnt/{volume.name}"}]}
            for volume in node.volumes
        ]
    return fields


def storage_documents(node: Node, talos: tuple[int, int], installer: str) -> Iterator[Document]:
    if talos >= SINCE_INSTALL_DOCUMENT and (disk := _install_disk(node)):
        yield dict(install_document(installer, match_expression(disk)))
    if node.encrypt_disk and talos >= SINCE_VOLUME_ENCRYPTION:
        for name in _ENCRYPTED:
            yield {"apiVersion": "v1alpha1", "kind": "VolumeConfig", "name": name, "encryption": _BY_TPM}
    if talos >= SINCE_VOLUMES:
        for volume in node.volumes:
            yield {
                "apiVersion": "v1alpha1",
                "kind": "UserVolumeConfig",
                "name": volume.name,
                # Add-ons may have asked for a folder under this name on all nodes.
                **({"volumeType": "partition"} if talos >= SINCE_INSTALL_DOCUMENT else {}),
                "provisioning": _provisioning(volume),
            }


def _install_disk(node: Node) -> dict[str, Any]:
    """As `machine.install` names the disk; empty where the machine starts from a disk image."""
    disk = node.install_disk
    if disk is None:
        return {}
    if disk.device:
        return {"disk": disk.device}
    return {"diskSelector": disk.selector.model_dump(exclude_none=True) if disk.selector else {"serial": disk.serial}}


def _provisioning(volume: Volume) -> dict[str, Any]:
    made: dict[str, Any] = {"diskSelector": {"match": _expression(volume.disk)}}
    if volume.min_size is None and volume.max_size is None:
        made["minSize"] = "1GiB"  # Talos asks for one of the two
    if volume.min_size is not None:
        made["minSize"] = _size(volume.min_size)
    if volume.max_size is not None:
        made["maxSize"] = _size(volume.max_size)
    return made


def _expression(disk: DiskDevice | DiskSerial | str) -> str:
    """In Talos' expression language."""
    match disk:
        case DiskDevice(path=path):
            return f'disk.dev_path == "{path}"'
        case DiskSerial(serial=serial):
            quoted = serial.replace("\\", "\\\\").replace('"', '\\"')
            return f'disk.serial == "{quoted}"'
    return disk


def _size(mib: int) -> str:
    """In the largest unit that is exact, as people write it."""
    for unit, factor in (("TiB", 1 << 20), ("GiB", 1 << 10)):
        if mib % factor == 0:
            return f"{mib // factor}{unit}"
    return f"{mib}MiB"
