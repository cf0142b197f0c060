"""What Talos asks of the documents about volumes."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from talosmith.desired.config.cel import check_expression
from talosmith.desired.config.check.findings import Findings, check_kind, complaint, error
from talosmith.desired.config.emit import is_empty
from talosmith.desired.config.schema.documents import KINDS
from talosmith.govalues import parse_duration, parse_size

_LONGEST_VOLUME_NAME = 34
_SHORTEST_SCRUB = 10
_OLD_SYSTEM_VOLUMES = ("STATE", "EPHEMERAL", "IMAGECACHE")
_PROMOTABLE_VOLUMES = ("ETCD", "CRI", "KUBELET", "LOG")  # directories of EPHEMERAL unless they are provisioned
_KEY_KINDS = ("static", "nodeID", "kms", "tpm")


@check_kind("VolumeConfig", until=(1, 13))
def _system_volume_name(document: Any) -> Findings:
    if document.get("name") not in _OLD_SYSTEM_VOLUMES:
        yield error("name", f"is none of {', '.join(_OLD_SYSTEM_VOLUMES)}")


@check_kind("VolumeConfig", since=(1, 14))
def _promotable_volume(document: Any) -> Findings:
    name = document.get("name")
    if name not in (*_OLD_SYSTEM_VOLUMES, *_PROMOTABLE_VOLUMES):
        yield error("name", f"is none of {', '.join((*_OLD_SYSTEM_VOLUMES, *_PROMOTABLE_VOLUMES))}")
    if name in ("STATE", "IMAGECACHE") and not _empty(document, "mount"):
        yield error("mount", f"is not for the {name} volume")
    if name == "IMAGECACHE" and not _empty(document, "filesystem"):
        yield error("filesystem", "is not for the IMAGECACHE volume, which is ext4")
    if name in _PROMOTABLE_VOLUMES and not _empty(document, "mount") and not _is_partition(document):
        yield error("mount", f"of the {name} volume needs provisioning: without, the volume is a directory")


def _is_partition(document: Any) -> bool:
    spec = document.get("provisioning") or {}
    match = (spec.get("diskSelector") or {}).get("match")
    return bool(match or spec.get("minSize") or spec.get("maxSize")) or spec.get("grow") is not None


@check_kind("VolumeConfig", "UserVolumeConfig", "ExistingVolumeConfig")
def _care(document: Any) -> Findings:
    for key, lowest in (("trim", 0), ("scrub", _SHORTEST_SCRUB)):
        yield from _interval(f"{key}.interval", (document.get(key) or {}).get("interval"), lowest)


@check_kind("FilesystemTrimConfig", "FilesystemScrubConfig")
def _care_of_all(document: Any) -> Findings:
    lowest = _SHORTEST_SCRUB if document["kind"] == "FilesystemScrubConfig" else 0
    yield from _interval("interval", document.get("interval"), lowest)


def _interval(path: str, text: str | None, lowest: int) -> Findings:
    value = parse_duration(text or "0s")
    if value < 0 or 0 < value < lowest * 10**9:
        yield error(path, f"is less than {lowest}s" if lowest else "is negative")


@check_kind("VolumeConfig")
def _system_volume(document: Any) -> Findings:
    name = document.get("name")
    if name == "STATE":
        if not _empty(document, "provisioning"):
            yield error("provisioning", "is not for the STATE volume")
        if any(key.get("lockToState") for key in (document.get("encryption") or {}).get("keys") or ()):
            yield error("encryption.keys", "cannot be locked to STATE on STATE itself")
    yield from _provisioning(document, required=False)
    yield from _encryption(document)


@check_kind("UserVolumeConfig")
def _user_volume(document: Any) -> Findings:
    yield from _volume_name(document)
    volume_type = document.get("volumeType") or "partition"
    if volume_type == "directory":
        for part in ("provisioning", "encryption", "filesystem"):
            if not _empty(document, part):
                yield error(part, "is not for volumes of type directory")
        return
    if volume_type not in ("partition", "disk"):
        yield error("volumeType", "is none of partition, disk, directory")
        return
    yield from _provisioning(document, required=True, sized=volume_type == "partition")
    yield from _encryption(document)


def _filesystem(*types: str) -> Callable[[Any], Findings]:
    """The check of a user volume's file system, given the types that a Talos can make."""

    def run(document: Any) -> Findings:
        if (document.get("volumeType") or "partition") not in ("partition", "disk"):
            return
        filesystem = document.get("filesystem") or {}
        chosen = filesystem.get("type") or "none"
        if chosen not in ("none", *types):
            yield error("filesystem.type", f"is none of {', '.join(types)}")
        for key in ("projectQuotaSupport", "xfs"):
            given = filesystem.get(key)
            if given is not None and given is not False and chosen not in ("none", "xfs"):
                yield error(f"filesystem.{key}", "is for xfs only")

    return run


check_kind("UserVolumeConfig", until=(1, 13))(_filesystem("xfs", "ext4"))
check_kind("UserVolumeConfig", since=(1, 14))(_filesystem("xfs", "ext4", "btrfs"))


@check_kind("UserVolumeConfig", until=(1, 13))
def _directory_mount(document: Any) -> Findings:
    if document.get("volumeType") == "directory" and not _empty(document, "mount"):
        yield error("mount", "is not for volumes of type directory")


@check_kind("UserVolumeConfig", since=(1, 14))
def _directory_access_time(document: Any) -> Findings:
    mount = document.get("mount") or {}
    if document.get("volumeType") == "directory" and mount.get("disableAccessTime") is not None:
        yield error("mount.disableAccessTime", "is not for volumes of type directory")


@check_kind("RawVolumeConfig", "SwapVolumeConfig")
def _raw_volume(document: Any) -> Findings:
    yield from _volume_name(document)
    yield from _provisioning(document, required=True)
    yield from _encryption(document)


@check_kind("ExistingVolumeConfig")
def _existing_volume(document: Any) -> Findings:
    yield from _volume_name(document, longest=None)
    selector = (document.get("discovery") or {}).get("volumeSelector") or {}
    yield from complaint(
        "discovery.volumeSelector.match", partial(check_expression, environment="volume"), selector.get("match")
    )


@check_kind("ExternalVolumeConfig")
def _external_volume(document: Any) -> Findings:
    yield from _volume_name(document)
    if document.get("filesystemType") != "virtiofs":
        yield error("filesystemType", "is not virtiofs")
    elif not ((document.get("mount") or {}).get("virtiofs") or {}).get("tag"):
        yield error("mount.virtiofs.tag", "is missing")


def _empty(document: Any, part: str) -> bool:
    return is_empty(KINDS[document["kind"]].fields[part].type, document.get(part))


def _volume_name(document: Any, longest: int | None = _LONGEST_VOLUME_NAME) -> Findings:
    name = document.get("name") or ""
    if not re.fullmatch("[A-Za-z0-9-]+", name) or (longest and len(name) > longest):
        limit = f"1 to {longest} " if longest else ""
        yield error("name", f"is not {limit}letters, digits and dashes")


def _provisioning(document: Any, *, required: bool, sized: bool = True) -> Findings:
    spec = document.get("provisioning") or {}
    match = (spec.get("diskSelector") or {}).get("match")
    if match or required:
        path = "provisioning.diskSelector.match"
        yield from complaint(path, partial(check_expression, environment="disk"), match)
    low, high = spec.get("minSize") or "", spec.get("maxSize") or ""
    if not sized:
        if low or high or spec.get("grow") is not None:
            yield error("provisioning", "knows no sizes for a whole disk")
        return
    if required and not low and not high:
        yield error("provisioning", "needs minSize or maxSize")
    if low.startswith("-"):
        yield error("provisioning.minSize", "is negative")
    fixed = bool(low and high) and "%" not in high and not high.startswith("-")
    if fixed and parse_size(low.removeprefix("-")) > parse_size(high):
        yield error("provisioning.minSize", "is more than maxSize")


def _encryption(document: Any) -> Findings:
    if _empty(document, "encryption"):
        return
    spec = document["encryption"]
    keys = spec.get("keys") or []
    if spec.get("provider") != "luks2":
        yield error("encryption.provider", "is not luks2")
    if not keys:
        yield error("encryption.keys", "is empty")
    slots = [key.get("slot") or 0 for key in keys]
    if len(set(slots)) < len(slots):
        yield error("encryption.keys", "uses a slot twice")
    for index, key in enumerate(keys):
        if all(key.get(kind) is None for kind in _KEY_KINDS):
            yield error(f"encryption.keys[{index}]", f"is none of {', '.join(_KEY_KINDS)}")
        registers = ((key.get("tpm") or {}).get("options") or {}).get("pcrs") or ()
        if any(not 0 <= register <= 23 for register in registers):
            yield error(f"encryption.keys[{index}].tpm.options.pcrs", "are between 0 and 23")


_LONGEST_STORAGE_NAME = {"LVMVolumeGroupConfig": 63, "LVMLogicalVolumeConfig": 63, "RAIDArrayConfig": 32}


@check_kind(*_LONGEST_STORAGE_NAME)
def _storage_name(document: Any) -> Findings:
    longest = _LONGEST_STORAGE_NAME[document["kind"]]
    if not re.fullmatch(f"[A-Za-z0-9_-]{{1,{longest}}}", document.get("name") or ""):
        yield error("name", f"is not 1 to {longest} letters, digits, dashes and underscores")


@check_kind("LVMVolumeGroupConfig", "RAIDArrayConfig")
def _members(document: Any) -> Findings:
    match = ((document.get("provisioning") or {}).get("volumeSelector") or {}).get("match")
    path = "provisioning.volumeSelector.match"
    yield from complaint(path, partial(check_expression, environment="member"), match)


@check_kind("LVMLogicalVolumeConfig")
def _logical_volume(document: Any) -> Findings:
    layout = document.get("type") or "linear"
    for key, layouts, lowest in (("mirrors", ("raid1", "raid10"), 1), ("stripes", ("raid0", "raid10"), 2)):
        given = document.get(key)
        if given is not None and (layout not in layouts or given < lowest):
            yield error(key, f"is for {' and '.join(layouts)} only, and at least {lowest}")
    spec = document.get("provisioning") or {}
    low, high = spec.get("minSize") or "", spec.get("maxSize") or ""
    if not spec.get("volumeGroup"):
        yield error("provisioning.volumeGroup", "is missing")
    if not high or high.startswith("-"):
        yield error("provisioning.maxSize", "is missing or negative")
    elif low and "%" not in high and parse_size(low.removeprefix("-")) > parse_size(high):
        yield error("provisioning.minSize", "is more than maxSize")


@check_kind("ZswapConfig")
def _zswap(document: Any) -> Findings:
    if not 0 <= (document.get("maxPoolPercent") or 0) <= 100:
        yield error("maxPoolPercent", "is not between 0 and 100")
