"""What Talos asks of the documents about volumes."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from talosmith.desired.config.cel import check_expression
from talosmith.desired.config.check.findings import Findings, check_kind, complaint, error
from talosmith.desired.config.emit import is_empty
from talosmith.desired.config.schema.documents import KINDS
from talosmith.govalues import parse_size

_LONGEST_VOLUME_NAME = 34
_KEY_KINDS = ("static", "nodeID", "kms", "tpm")


@check_kind("VolumeConfig")
def _system_volume(document: Any) -> Findings:
    name = document.get("name")
    if name not in ("STATE", "EPHEMERAL", "IMAGECACHE"):
        yield error("name", "is none of STATE, EPHEMERAL, IMAGECACHE")
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
        for part in ("provisioning", "encryption", "filesystem", "mount"):
            if not _empty(document, part):
                yield error(part, "is not for volumes of type directory")
        return
    if volume_type not in ("partition", "disk"):
        yield error("volumeType", "is none of partition, disk, directory")
        return
    yield from _provisioning(document, required=True, sized=volume_type == "partition")
    filesystem = document.get("filesystem") or {}
    if filesystem.get("type") not in (None, "none", "xfs", "ext4"):
        yield error("filesystem.type", "is neither xfs nor ext4")
    if filesystem.get("projectQuotaSupport") and filesystem.get("type") == "ext4":
        yield error("filesystem.projectQuotaSupport", "is for xfs only")
    yield from _encryption(document)


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


@check_kind("ZswapConfig")
def _zswap(document: Any) -> Findings:
    if not 0 <= (document.get("maxPoolPercent") or 0) <= 100:
        yield error("maxPoolPercent", "is not between 0 and 100")
