"""talhelper's `talconfig.yaml` as an inventory whose machine configs equal talhelper's own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from talosmith.files.regular import shown
from talosmith.inventory.importers.files import Imported
from talosmith.inventory.importers.placing import Refuse, place
from talosmith.inventory.importers.talconfig.addressing import find_addressing
from talosmith.inventory.importers.talconfig.cluster_keys import ClusterKeys
from talosmith.inventory.importers.talconfig.fragments import Fragments
from talosmith.inventory.importers.talconfig.image import Images, SchematicId, find_images
from talosmith.inventory.importers.talconfig.inventory_text import cluster_text, nodes_text
from talosmith.inventory.importers.talconfig.node_documents import add_documents
from talosmith.inventory.importers.talconfig.node_keys import NodeDraft, draft_node
from talosmith.inventory.importers.talconfig.patches import Patches
from talosmith.inventory.importers.talconfig.source import Talconfig, read_talconfig
from talosmith.inventory.sources import CLUSTER_FILE, NODES_FILE
from talosmith.model.cluster import Role

# Where talhelper looks for the cluster's secrets; a later one wins.
TALSECRET = ("talsecret.yaml", "talsecret.sops.yaml", "talsecret.yml", "talsecret.sops.yml")

__all__ = ["SchematicId", "import_talconfig"]


def import_talconfig(
    file: Path,
    schematic_id: SchematicId,
    refuse: Refuse,
    *,
    reveal: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Imported:
    """The files of an inventory that says the same, and a remark on everything that it does not say.

    `reveal`: values that are hidden in encrypted files or the environment may be written in clear.
    """
    talconfig = read_talconfig(file, os.environ if environment is None else environment, reveal=reveal)
    addressing = find_addressing(talconfig)
    images = find_images(talconfig, schematic_id)
    fragments = Fragments(talconfig.nodes, talconfig.remarks, refuse)
    cluster = ClusterKeys(talconfig, addressing, fragments)
    dns_servers = cluster.dns_servers()
    drafts: dict[str, NodeDraft] = {}
    for node in talconfig.nodes:
        draft = drafts[node.name] = draft_node(talconfig, node, addressing)
        draft.keys |= images.node_keys[node.name]
        if "schematic" in draft.keys:
            draft.comments["schematic"] = images.node_comments[node.name]
        add_documents(
            talconfig,
            node,
            draft,
            addressing,
            nameservers=not dns_servers,
            image=images.references.get(node.name, ""),
        )
    files = {CLUSTER_FILE: _cluster(talconfig, cluster, dns_servers, images)}
    for thing in {thing: None for draft in drafts.values() for thing in draft.fragments}:
        fragments.add_each({name: draft.fragments.get(thing) for name, draft in drafts.items()})
    roles = {node.name: node.role for node in talconfig.nodes}
    placed = place([*fragments.changes(), *Patches(talconfig, refuse).all()], roles)
    by_role: dict[Role, list[NodeDraft]] = {"controlplane": [], "worker": []}
    for node in talconfig.nodes:
        by_role[node.role].append(drafts[node.name])
    files[NODES_FILE] = nodes_text(file.name, by_role, placed.role_patches, placed.node_patches)
    _tell_what_only_talhelper_needs(talconfig)
    secrets = [name for name in TALSECRET if (file.parent / name).is_file()]
    return Imported(
        files={**files, **placed.files},
        remarks=talconfig.remarks.all(),
        private=talconfig.discretion.revealed,
        secrets=shown(file.parent / secrets[-1]) if secrets else "",
    )


def _cluster(talconfig: Talconfig, cluster: ClusterKeys, dns_servers: list[str], images: Images) -> str:
    name = cluster.name()
    sections = {
        "network": cluster.network(dns_servers),
        "image": images.section,
        "kubernetes": cluster.kubernetes(),
    }
    kubernetes: str = talconfig.data["kubernetesVersion"]
    versions = (str(talconfig.version), f"v{kubernetes.removeprefix('v')}")
    return cluster_text(talconfig.file.name, name, versions, sections, images.comment)


def _tell_what_only_talhelper_needs(talconfig: Talconfig) -> None:
    for key in ("schematicEndpoint", "protocol", "ISOURLTmpl"):
        if (talconfig.data.get("imageFactory") or {}).get(key):
            why = "it is about how talhelper asks the image factory, not about configs"
            talconfig.remarks.note(("imageFactory", key), "this is not taken over", why)
