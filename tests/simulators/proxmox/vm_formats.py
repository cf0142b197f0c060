"""The formats of a VM's options that consist of several properties, or of names of a kind."""

from __future__ import annotations

import re
from collections.abc import Collection

from .property_strings import properties, split
from .schema import Malformed, Param, boolean, choice, formatted, integer, number, string

BUSES = {"ide": 4, "sata": 6, "scsi": 31, "virtio": 16}


NIC_MODELS = [
    "e1000",
    "e1000-82540em",
    "e1000-82544gc",
    "e1000-82545em",
    "e1000e",
    "i82551",
    "i82557b",
    "i82559er",
    "ne2k_isa",
    "ne2k_pci",
    "pcnet",
    "rtl8139",
    "virtio",
    "vmxnet3",
]


_SIZE = r"\d+(\.\d+)?[KMGT]?"


def _mac(text: str) -> None:
    if not re.fullmatch(r"[0-9a-fA-F][02468aceACE](:[0-9a-fA-F]{2}){5}", text):
        raise Malformed("value does not look like a valid unicast MAC address")


def nic_param(option: str) -> Param:
    table = {
        "model": choice(*NIC_MODELS),
        "macaddr": formatted(_mac),
        "bridge": string(r"[-_.\w\d]+"),
        "queues": integer(0, 64),
        "rate": number(0),
        "tag": integer(1, 4094),
        "trunks": string(r"\d+(?:-\d+)?(?:;\d+(?:-\d+)?)*"),
        "firewall": boolean(),
        "link_down": boolean(),
        "mtu": integer(1, 65520),
    }

    inner = properties(option, table)

    def check(text: str) -> None:
        parts = split(text, "model")
        for model in NIC_MODELS:
            if model in parts:
                parts |= {"model": model, "macaddr": parts.pop(model)}
        assert inner.check
        inner.check(",".join(f"{name}={value}" for name, value in parts.items()))

    return Param(check=check)


def drive_table(bus: str) -> dict[str, Param]:
    table = {
        "file": string(),
        "format": choice("raw", "qcow", "qed", "qcow2", "vmdk", "cloop"),
        "size": string(_SIZE),
        "import-from": string(),
    }
    if bus == "efidisk":
        return table | {"efitype": choice("2m", "4m"), "pre-enrolled-keys": boolean(), "ms-cert": string()}
    if bus == "tpmstate":
        return table | {"version": choice("v1.2", "v2.0")}
    table |= {name: boolean() for name in ("backup", "replicate", "snapshot", "shared", "detect_zeroes")}
    table |= {
        "media": choice("cdrom", "disk"),
        "cache": choice("none", "writethrough", "writeback", "unsafe", "directsync"),
        "discard": choice("ignore", "on"),
        "aio": choice("native", "threads", "io_uring"),
        "werror": choice("enospc", "ignore", "report", "stop"),
        "rerror": choice("ignore", "report", "stop"),
        "serial": string(max_length=60),
    }
    for what in ("bps", "mbps", "iops"):
        for side in ("", "_rd", "_wr"):
            for end in ("", "_max"):
                table[f"{what}{side}{end}"] = number(0)
    if bus in ("scsi", "virtio"):
        table |= {"iothread": boolean(), "ro": boolean()}
    if bus != "virtio":
        table |= {"ssd": boolean(), "wwn": string("0x[0-9a-fA-F]{16}")}
    if bus == "scsi":
        table |= {"queues": integer(2), "scsiblock": boolean(), "product": string(), "vendor": string()}
    return table


def cpu_param(models: Collection[str]) -> Param:
    def check(text: str) -> None:
        kind = split(text, "cputype").get("cputype", "kvm64")
        if not kind.startswith("custom-") and kind not in models:
            raise Malformed(f"Built-in cputype '{kind}' is not defined (missing 'custom-' prefix?)")

    return formatted(check)


def check_tags(text: str) -> None:
    for tag in filter(None, re.split(r"[;,\s]", text)):
        if not re.fullmatch(r"[a-zA-Z0-9_][a-zA-Z0-9_.+-]*", tag):
            raise Malformed("invalid characters in tag")


def check_urlencoded(text: str) -> None:
    if not re.fullmatch(r"[-%a-zA-Z0-9_.!~*'()]+", text):
        raise Malformed(f"invalid urlencoded string: {text}")
