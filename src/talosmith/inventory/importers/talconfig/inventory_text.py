"""The text of an imported inventory: `cluster.yaml` and `nodes.yaml`, with a few comments on what is from where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from talosmith.inventory.importers.placing import ROLE_KEYS
from talosmith.inventory.importers.talconfig.node_keys import NodeDraft
from talosmith.inventory.importers.yaml_text import dump
from talosmith.model.cluster import Role

_COMPLETION = "# yaml-language-server: $schema=./.talosmith/{part}.schema.json\n"
_OF_ONE_NODE = ("name", "ip", "mac_addr")


def cluster_text(
    origin: str, name: str, versions: tuple[str, str], sections: Mapping[str, Mapping[str, Any]], image_comment: str
) -> str:
    talos, kubernetes = versions
    parts = [
        _COMPLETION.format(part="cluster")
        + f"# Imported from {origin}. What has no key here is in patches/.\n"
        + dump({"cluster_name": name}),
        "# renovate: datasource=github-releases depName=siderolabs/talos\n"
        + dump({"talos_version": talos})
        + "# renovate: datasource=github-releases depName=kubernetes/kubernetes\n"
        + dump({"kubernetes_version": kubernetes}),
    ]
    for key, section in sections.items():
        if section:
            comment = f"# {image_comment}\n" if key == "image" and image_comment else ""
            parts.append(comment + dump({key: dict(section)}))
    parts.append("# Existing machines.\nmetal: {}\n")
    return "\n".join(parts)


def nodes_text(
    origin: str,
    drafts: Mapping[Role, Sequence[NodeDraft]],
    role_patches: Mapping[Role, Sequence[str]],
    node_patches: Mapping[str, Sequence[str]],
) -> str:
    parts = [_COMPLETION.format(part="nodes") + f"# Imported from {origin}.\n"]
    for role, nodes in drafts.items():
        if not nodes:
            continue
        common = _common(nodes)
        patches = role_patches.get(role)
        for draft in nodes:
            own = node_patches.get(str(draft.keys["name"]))
            if own:
                draft.keys["patches"] = list(own)
        group = common | ({"patches": list(patches)} if patches else {})
        entries = "".join(_entry(draft, common) for draft in nodes)
        if group:
            comments = {key: nodes[0].comments[key] for key in common if key in nodes[0].comments}
            parts.append(
                f"{ROLE_KEYS[role]}:\n" + _indented(_mapping(group, comments) + "nodes:\n" + _indented(entries))
            )
        else:
            parts.append(f"{ROLE_KEYS[role]}:\n" + _indented(entries))
    return "\n".join(parts)


def _common(nodes: Sequence[NodeDraft]) -> dict[str, Any]:
    """What all nodes of a role have alike is said once; of a single node nothing is."""
    first = nodes[0].keys
    if len(nodes) == 1:
        return {}
    return {
        key: value
        for key, value in first.items()
        if key not in _OF_ONE_NODE and all(draft.keys.get(key) == value for draft in nodes)
    }


def _entry(draft: NodeDraft, common: Mapping[str, Any]) -> str:
    own = {key: value for key, value in draft.keys.items() if key not in common}
    lines = _indented(_mapping(own, draft.comments))
    return f"- {lines[2:]}"


def _mapping(data: Mapping[str, Any], comments: Mapping[str, str]) -> str:
    pieces = [(f"# {comments[key]}\n" if key in comments else "") + dump({key: data[key]}) for key in data]
    return "".join(pieces)


def _indented(text: str) -> str:
    return "".join(f"  {line}" if line.strip() else line for line in text.splitlines(keepends=True))
