"""Every document that Talos 1.14 knows, as one lookup: which kinds there are, their fields, which exclude each other.

The tables stand in the modules beside this one, as `python -m tools.config_schema` prints them; `since` says which
Talos knows which of them. A later Talos adds tables there and nothing elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from talosmith.desired.config.schema import cluster as schema_cluster
from talosmith.desired.config.schema import interfaces as schema_interfaces
from talosmith.desired.config.schema import kubernetes as schema_kubernetes
from talosmith.desired.config.schema import machine as schema_machine
from talosmith.desired.config.schema import network as schema_network
from talosmith.desired.config.schema import node as schema_node
from talosmith.desired.config.schema import storage as schema_storage
from talosmith.desired.config.schema import system as schema_system
from talosmith.desired.config.schema.notation import Struct, parse_table

Document = Mapping[str, Any]
Identity = tuple[str, str]  # kind and name; the main document is ("", "")

API_VERSION = "v1alpha1"
NEWEST = "1.14"  # the Talos whose documents these are
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
    schema_kubernetes.SHARED,
):
    for _name, _table in _tables.items():
        _shared[_name] = parse_table(_name, _table, _shared)
        _shared[_name].atomic = _tables is _PEM
_shared["Encryption"].judged_by = ("provider", "keys")

MAIN = parse_table("v1alpha1", _MAIN, _shared)


class _Kinds(Mapping[str, Struct]):
    """Kinds by name. A table is parsed when it is first asked for: most configs have few of the kinds."""

    def __init__(self, tables: Mapping[str, str]) -> None:
        self._tables = tables
        self._parsed: dict[str, Struct] = {}

    def __getitem__(self, kind: str) -> Struct:
        found = self._parsed.get(kind)
        if found is None:
            found = self._parsed[kind] = parse_table(kind, _META + self._tables[kind], _shared)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __contains__(self, kind: object) -> bool:
        return kind in self._tables


KINDS = _Kinds(
    {
        kind: table
        for part in (schema_network, schema_node, schema_kubernetes, schema_storage, schema_system)
        for kind, table in part.KINDS.items()
    }
)

_LINKS = (
    "BondConfig", "BridgeConfig", "DummyLinkConfig", "LinkConfig", "VLANConfig", "VRFConfig", "VethConfig",
    "WireguardConfig",
)  # fmt: skip
_EXCLUSIVE = (_LINKS, ("Layer2VIPConfig", "HCloudVIPConfig"), ("UserVolumeConfig", "ExistingVolumeConfig"))
RIVALS = {kind: tuple(other for other in group if other != kind) for group in _EXCLUSIVE for kind in group}


def struct_of(document: Document) -> Struct:
    kind = document.get("kind")
    return KINDS[kind] if kind else MAIN


def identity(document: Document) -> Identity:
    kind = document.get("kind") or ""
    return kind, document.get("name") or "" if kind else ""


def clashes(documents: Sequence[Document]) -> list[tuple[int, str]]:
    """What is wrong with documents as a set: one thing described twice, or by kinds that exclude each other.

    Each with the number of the document that comes second.
    """
    found: list[tuple[int, str]] = []
    seen: set[Identity] = set()
    links: dict[str, Identity] = {}
    for index, document in enumerate(documents):
        kind, name = key = identity(document)
        if key in seen:
            found.append((index, f"{label(key)} is there twice"))
        seen.add(key)
        rivals = [(rival, name) for rival in RIVALS.get(kind, ()) if (rival, name) in seen]
        found += [(index, f"{label(key)} and {label(rival)} exclude each other") for rival in rivals]
        if not rivals and kind in _LINKS:
            found += [
                (index, f"{label(key)} and {label(links[link])} both configure the link {link!r}")
                for link in _links(document)
                if links.setdefault(link, key) != key
            ]
    return found


def _links(document: Document) -> Iterator[str]:
    """The links that a document configures: a virtual pair has two."""
    yield document.get("name") or ""
    if document["kind"] == "VethConfig":
        yield (document.get("peer") or {}).get("name") or ""


def label(key: Identity) -> str:
    kind, name = key
    if not kind:
        return "the v1alpha1 document"
    return f"{kind} {name!r}" if name else kind
