"""What a talconfig says of a node in keys that inventories have, and what those keys cannot hold, as documents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from ipaddress import ip_address
from typing import Any

from pydantic import TypeAdapter, ValidationError

from talosmith.inventory.importers.talconfig.addressing import Addressing, addresses_of
from talosmith.inventory.importers.talconfig.fragments import DELETE, Fragment
from talosmith.inventory.importers.talconfig.source import Talconfig, TalNode
from talosmith.inventory.parse import Path
from talosmith.model.disks import DiskDevice, DiskSerial, VolumeDisk, as_written, parse_disk
from talosmith.model.settings import DiskSelector, Volume
from talosmith.model.values import LabelKey, LabelValue, Mac, Taint

# Stands where an inventory wants a disk and only a patch can say which one. There is no such device, so nothing can
# be overwritten by it.
CHOSEN_BY_PATCH = "/dev/disk/chosen-by-patch"
NOT_BEHIND_LOAD_BALANCERS = "node.kubernetes.io/exclude-from-external-load-balancers"
SINCE_VOLUMES = (1, 10)

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_MODULE = re.compile(r"[A-Za-z0-9_-]+\Z")
_SIZE = re.compile(r"(\d+)(M|G|T)iB\Z")
_BY_PATH = re.compile(r'disk\.dev_path == "(/dev/[^"]+)"\Z')
_BY_SERIAL = re.compile(r'disk\.serial == "([A-Za-z0-9._:-]+)"\Z')
_TEMPLATE = "{{"


@dataclass(slots=True)
class NodeDraft:
    """A node's entry in the inventory, comments on its keys, and documents by what they are about."""

    keys: dict[str, Any]
    comments: dict[str, str] = field(default_factory=dict)
    fragments: dict[str, Fragment] = field(default_factory=dict)

    def document(
        self, thing: str, document: Mapping[str, Any], path: Path, why: str, *, undoes: bool = False
    ) -> None:
        self.fragments[thing] = Fragment([document], path, why, undoes)


def draft_node(talconfig: Talconfig, node: TalNode, addressing: Addressing) -> NodeDraft:
    draft = NodeDraft({"name": node.name})
    _address(talconfig, node, addressing, draft)
    _disk(node, draft)
    _machine(talconfig, node, draft)
    _kernel_modules(node, draft)
    _volumes(talconfig, node, draft)
    _labels(talconfig, node, draft)
    _taints(node, draft)
    return draft


def fits(kind: Any, value: Any) -> bool:
    """Whether an inventory takes the value where it wants this kind."""
    try:
        _adapter(kind).validate_python(value)
    except ValidationError:
        return False
    return True


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _address(talconfig: Talconfig, node: TalNode, addressing: Addressing, draft: NodeDraft) -> None:
    given = addresses_of(node)
    if node.name in addressing.nodes:
        static = addressing.nodes[node.name]
        draft.keys |= {"ip": str(static.ip), **static.keys}
    else:
        usable = [address for address in given if _is_address(address)]
        if usable:
            draft.keys["ip"] = usable[0]
        _mac(node, draft)
    further = [address for address in given if address != draft.keys.get("ip")]
    if "ip" not in draft.keys:
        what = "the node has no IP address"
        talconfig.remarks.left_out((*node.path, "ipAddress"), what, "an inventory does not take a name for it")
    elif further:
        what = f"further addresses are not used: {', '.join(further)}"
        talconfig.remarks.note((*node.path, "ipAddress"), what, f"the node is reached at {draft.keys['ip']}")


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _mac(node: TalNode, draft: NodeDraft) -> None:
    """Known to the inventory where the talconfig picks the first card by it; the interfaces stand in patches."""
    interfaces = node.get("networkInterfaces") or [{}]
    selector = interfaces[0].get("deviceSelector") or {}
    mac = selector.get("permanentAddr") or selector.get("hardwareAddr")
    if mac and fits(Mac, mac):
        draft.keys["mac_addr"] = mac.lower()


def _disk(node: TalNode, draft: NodeDraft) -> None:
    disk, selector = node.get("installDisk"), node.get("installDiskSelector")
    serial = (selector or {}).get("serial", "")
    if selector and not disk and set(selector) == {"serial"} and as_written(serial) == serial:
        draft.keys["disk"] = serial
        return
    if selector and not disk and fits(DiskSelector, selector):
        draft.keys["disk_selector"] = selector
        return
    draft.keys["disk"] = disk if disk and isinstance(parse_disk(disk), DiskDevice) else CHOSEN_BY_PATCH
    install: dict[str, Any] = {}
    if draft.keys["disk"] == CHOSEN_BY_PATCH:
        draft.comments["disk"] = "The patches say which one."
        install["disk"] = disk or DELETE
    if selector:
        install["diskSelector"] = selector
    if install:
        path = (*node.path, "installDiskSelector" if selector else "installDisk")
        draft.document("disk", {"machine": {"install": install}}, path, "machine.install: the disk Talos is on")


def _machine(talconfig: Talconfig, node: TalNode, draft: NodeDraft) -> None:
    spec = node.get("machineSpec") or {}
    path = node.at("machineSpec")
    arch = spec.get("arch") or "amd64"
    if arch not in ("amd64", "arm64"):
        talconfig.remarks.left_out((*path, "arch"), f"`{arch}` is no architecture that Talos has")
    elif arch != "amd64":
        draft.keys["arch"] = arch
    for key in ("bootMethod", "imageSuffix"):
        if spec.get(key):
            talconfig.remarks.note((*path, key), "this is not taken over", "it is about boot images, not configs")


def _kernel_modules(node: TalNode, draft: NodeDraft) -> None:
    modules = node.get("kernelModules")
    if not modules:
        return
    if all(_MODULE.match(one.get("name") or "") and not one.get("parameters") for one in modules):
        draft.keys["kernel_modules"] = [one["name"] for one in modules]
    else:
        document = {"machine": {"kernel": {"modules": modules}}}
        draft.document("modules", document, node.at("kernelModules"), "machine.kernel: modules with parameters")


def _volumes(talconfig: Talconfig, node: TalNode, draft: NodeDraft) -> None:
    volumes, documents = [], []
    for volume in node.get("userVolumes") or ():
        converted = _volume(volume) if talconfig.version.line >= SINCE_VOLUMES else None
        if converted is not None:
            volumes.append(converted)
        else:
            documents.append({"apiVersion": "v1alpha1", "kind": "UserVolumeConfig", **volume})
    if volumes:
        draft.keys["volumes"] = volumes
    if documents:
        why = "UserVolumeConfig: volumes with more than a disk and sizes"
        draft.fragments["userVolumes"] = Fragment(documents, node.at("userVolumes"), why)


def _volume(volume: Mapping[str, Any]) -> dict[str, Any] | None:
    """A user volume in the inventory's words, if it renders to the same."""
    provisioning = volume.get("provisioning") or {}
    sizes = {key: value for key, value in provisioning.items() if key in ("minSize", "maxSize")}
    if set(volume) - {"name", "provisioning"} or set(provisioning) - {"diskSelector", *sizes} or not sizes:
        return None
    match = (provisioning.get("diskSelector") or {}).get("match") or ""
    converted: dict[str, Any] = {"name": volume.get("name"), "disk": match}
    wanted: DiskDevice | DiskSerial | str = match
    if device := _BY_PATH.match(match):
        converted["disk"], wanted = device[1], DiskDevice(device[1])
    elif serial := _BY_SERIAL.match(match):
        converted["disk"], wanted = as_written(serial[1]), DiskSerial(serial[1])
    if not fits(VolumeDisk, converted["disk"]) or _adapter(VolumeDisk).validate_python(converted["disk"]) != wanted:
        return None  # the inventory would read another disk from it
    for key, name in (("minSize", "min_size"), ("maxSize", "max_size")):
        if key in sizes:
            size = _SIZE.match(sizes[key])
            if size is None:
                return None
            converted[name] = f"{size[1]}{size[2]}"
    return converted if fits(Volume, converted) else None


def _labels(talconfig: Talconfig, node: TalNode, draft: NodeDraft) -> None:
    labels, path = node.get("nodeLabels"), node.at("nodeLabels")
    if labels is None:
        return
    usable = without_templates(talconfig, path, labels)
    if usable and all(fits(LabelKey, key) and fits(LabelValue, value) for key, value in usable.items()):
        draft.keys["labels"] = usable
    elif usable:
        draft.document("labels", {"machine": {"nodeLabels": usable}}, path, "machine.nodeLabels")
    if node.role == "controlplane" and NOT_BEHIND_LOAD_BALANCERS not in labels:
        document = {"machine": {"nodeLabels": {NOT_BEHIND_LOAD_BALANCERS: DELETE}}}
        why = "machine.nodeLabels: control planes with labels of their own are not kept from load balancers"
        draft.document("excluded", document, path, why, undoes=True)


def _taints(node: TalNode, draft: NodeDraft) -> None:
    taints = node.get("nodeTaints") or {}
    converted = []
    for key, text in taints.items():
        value, colon, effect = text.rpartition(":")
        converted.append(f"{key}={value}:{effect}" if colon else f"{key}:{effect}")
        if effect not in _EFFECTS or not fits(Taint, converted[-1]):
            draft.document("taints", {"machine": {"nodeTaints": taints}}, node.at("nodeTaints"), "machine.nodeTaints")
            return
    if converted:
        draft.keys["taints"] = converted


def _is_template(talconfig: Talconfig, path: Path, value: str) -> bool:
    if _TEMPLATE not in value:
        return False
    talconfig.remarks.left_out(
        path, "the value is a template", "nothing in an inventory is run", "write what it gives"
    )
    return True


def without_templates(talconfig: Talconfig, path: Path, texts: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in texts.items() if not _is_template(talconfig, (*path, key), value)}
