"""Every document that Talos 1.13 knows, as one lookup: which kinds there are, their fields, which exclude each other.

The tables stand in the `schema_…` modules; a later Talos adds tables there and nothing elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from talosmith.desired.config.schema import cluster as schema_cluster
from talosmith.desired.config.schema import interfaces as schema_interfaces
from talosmith.desired.config.schema import machine as schema_machine
from talosmith.desired.config.schema import network as schema_network
from talosmith.desired.config.schema import node as schema_node
from talosmith.desired.config.schema.notation import Struct, parse_table

Document = Mapping[str, Any]
Identity = tuple[str, str]  # kind and name; the main document is ("", "")

API_VERSION = "v1alpha1"
MAIN_KEYS = ("machine", "cluster", "debug", "persist")  # any of them makes a document the main one

_PEM = {"Pair": "crt base64 !\nkey key ! $", "Certificate": "crt base64 !", "Key": "key key ! $"}
_MAIN = "version s !\ndebug b\npersist b\nmachine *@Machine !\ncluster *@Cluster !"
_META = "apiVersion s\nkind s !\n"

_shared: dict[str, Struct] = {}
for _tables in (
    _PEM,
    schema_interfaces.TABLES,
    schema_machine.TABLES,
    schema_cluster.TABLES,
    schema_network.SHARED,
    schema_node.SHARED,
):
    for _name, _table in _tables.items():
        _shared[_name] = parse_table(_name, _table, _shared)
        _shared[_name].atomic = _tables is _PEM
_shared["Encryption"].judged_by = ("provider", "keys")

MAIN = parse_table("v1alpha1", _MAIN, _shared)
KINDS: dict[str, Struct] = {
    kind: parse_table(kind, _META + table, _shared)
    for kind, table in {**schema_network.KINDS, **schema_node.KINDS}.items()
}

_LINKS = ("BondConfig", "BridgeConfig", "DummyLinkConfig", "LinkConfig", "VLANConfig", "VRFConfig", "WireguardConfig")
_EXCLUSIVE = (_LINKS, ("Layer2VIPConfig", "HCloudVIPConfig"), ("UserVolumeConfig", "ExistingVolumeConfig"))
_RIVALS = {kind: tuple(other for other in group if other != kind) for group in _EXCLUSIVE for kind in group}


def struct_of(document: Document) -> Struct:
    kind = document.get("kind")
    return KINDS[kind] if kind else MAIN


def identity(document: Document) -> Identity:
    kind = document.get("kind") or ""
    return kind, document.get("name") or "" if kind else ""


def clashes(documents: list[Document]) -> list[str]:
    """What is wrong with documents as a set: one thing described twice, or by kinds that exclude each other."""
    found, seen = [], set()
    for document in documents:
        kind, name = key = identity(document)
        if key in seen:
            found.append(f"{label(key)} is there twice")
        seen.add(key)
        found += [
            f"{label(key)} and {label((rival, name))} exclude each other"
            for rival in _RIVALS.get(kind, ())
            if (rival, name) in seen
        ]
    return found


def label(key: Identity) -> str:
    kind, name = key
    if not kind:
        return "the v1alpha1 document"
    return f"{kind} {name!r}" if name else kind
