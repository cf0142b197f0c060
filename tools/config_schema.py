"""Machine config tables out of Talos itself: `python -m tools.config_schema KIND …` prints them in our notation.

The library of Talos is asked (`talos-machinery schema`, a peer), so that a new release is read and not typed. The
real tier compares every table of the product with the same answer.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from tools.peers.build import find

Described = Mapping[str, Any]

SCALARS = {
    "string": "s",
    "bool": "bool",
    "int": "int",
    "int64": "int",
    "int32": "i32",
    "uint": "uint",
    "uint64": "uint",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "time.Duration": "duration",
    "meta.URL": "url",
    "v1alpha1.Endpoint": "url",
    "netip.Addr": "address",
    "meta.Addr": "address",
    "netip.AddrPort": "address-port",
    "meta.AddrPort": "address-port",
    "netip.Prefix": "plain-prefix",
    "meta.Prefix": "prefix",
    "nethelpers.HardwareAddr": "mac",
    "cel.Expression": "cel",
    "block.ByteSize": "size",
    "block.Size": "size-or-share",
    "v1alpha1.DiskSize": "disk-size",
    "v1alpha1.InstallDiskSizeMatcher": "size-condition",
    "network.PortRange": "ports",
    "v1alpha1.FileMode": "mode",
    "runtime.EtcFileMode": "mode",
    "block.EncryptionProviderType": "encryption",
    "block.FilesystemType": "filesystem",
    "block.VolumeType": "volume-type",
    "nethelpers.ADLACPActive": "lacp-active",
    "nethelpers.ADSelect": "ad-select",
    "nethelpers.ARPAllTargets": "arp-targets",
    "nethelpers.ARPValidate": "arp-validate",
    "nethelpers.AutoHostnameKind": "auto-hostname",
    "nethelpers.BondMode": "bond-mode",
    "nethelpers.BondXmitHashPolicy": "hash-policy",
    "nethelpers.ClientIdentifier": "client-id",
    "nethelpers.DNSProtocol": "dns-protocol",
    "nethelpers.DefaultAction": "default-action",
    "nethelpers.FailOverMAC": "fail-over-mac",
    "nethelpers.LACPRate": "lacp-rate",
    "nethelpers.PrimaryReselect": "reselect",
    "nethelpers.Protocol": "protocol",
    "nethelpers.RoutingRuleAction": "rule-action",
    "nethelpers.RoutingTable": "table",
    "nethelpers.VLANProtocol": "vlan-mode",
    "nethelpers.WOLMode": "wake",
    "storage.LVMLogicalVolumeType": "lvm-type",
    "storage.MDLevel": "raid-level",
    "storage.MDMetadata": "raid-metadata",
    "v1alpha1.Base64Bytes": "base64",
    "[]uint8": "base64",
}
PEM = {
    "x509.PEMEncodedCertificateAndKey": "Pair",
    "x509.PEMEncodedCertificate": "Certificate",
    "x509.PEMEncodedKey": "Key",
}


def ask() -> dict[str, Described]:
    """Every kind as the library of Talos describes it."""
    answer = subprocess.run([find("talos-machinery"), "schema"], capture_output=True, check=True)
    return dict(json.loads(answer.stdout))


def fields_of(described: Described) -> Iterator[Described]:
    """The fields of a struct in the order in which they are written; embedded structs stand in their place."""
    for field in described.get("fields") or ():
        if field.get("inline"):
            yield from fields_of(field["type"])
        else:
            yield field


def table(described: Described, depth: int = 0) -> Iterator[str]:
    """The lines of a struct's table."""
    rows = []
    for field in fields_of(described):
        if field["key"] in ("apiVersion", "kind") and depth == 0:
            continue
        notation, inner = notation_of(field["type"])
        marks = ("" if field["omitEmpty"] else "  !") + ("  =" if "replace" in field.get("merge", "") else "")
        marks += "  ?" if field["type"]["shape"] == "list" and field["type"].get("hasZero") else ""
        rows.append((field["key"], notation + marks, inner))
    width = max((len(key) for key, _, _ in rows), default=0)
    for key, text, inner in rows:
        yield f"{'    ' * depth}{key:{width}}  {text}"
        if inner is not None:
            yield from table(inner, depth + 1)


def notation_of(described: Described) -> tuple[str, Described | None]:
    """The type in our notation, and the struct whose fields stand below it."""
    shape, name = described["shape"], described["name"]
    if name in SCALARS:
        return SCALARS[name], None
    if name in PEM:
        return f"@{PEM[name]}", None
    if name == "meta.Args":
        return "args", None
    if name in ("meta.Unstructured", "map[string]interface {}"):
        return "free", None
    if shape == "pointer":
        inner, struct = notation_of(described["item"])
        return ("b" if inner == "bool" else f"*{inner}"), struct
    if shape in ("list", "map"):
        inner, struct = notation_of(described["item"])
        nullable = "*" if inner.startswith("*") else ""
        brackets = "[]" if shape == "list" else "{}"
        return f"{brackets[0]}{nullable}{brackets[1]}{inner.removeprefix('*')}", struct
    if shape == "struct":
        return ".", described
    if shape in SCALARS:  # a type of its own, but read and written like the plain one
        return SCALARS[shape], None
    raise ValueError(f"{name} ({shape}) has no place in the notation")


if __name__ == "__main__":
    kinds = ask()
    for kind in sys.argv[1:] or sorted(kinds):
        print(f'    {kind!r}: """\n{chr(10).join(table(kinds[kind]["type"]))}\n""",'.replace("'", '"'))
