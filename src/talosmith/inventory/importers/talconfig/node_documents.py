"""What a talconfig says of a node and inventories have no key for: documents that become patches."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from talosmith.inventory.importers.reading import Unusable, read_inside
from talosmith.inventory.importers.talconfig.addressing import Addressing
from talosmith.inventory.importers.talconfig.fragments import DELETE, FILLED, Fragment
from talosmith.inventory.importers.talconfig.links import link_documents, without_document
from talosmith.inventory.importers.talconfig.node_keys import NodeDraft, without_templates
from talosmith.inventory.importers.talconfig.source import GROUPS, Talconfig, TalNode
from talosmith.inventory.importers.yaml_text import Octal
from talosmith.inventory.parse import Path

_ONLY_FOR_TALHELPER = {
    "noSchematicValidate": "it is about a check of talhelper's own",
    "filenameTmpl": "it is about the names of talhelper's own files",
    "imageSchematic": "it is about boot images, not configs",
}
_SINCE_NO_KERNEL_ARGS = (1, 12)  # from here on the boot image alone has kernel arguments

Documents = Sequence[Mapping[str, Any]]


def add_documents(
    talconfig: Talconfig,
    node: TalNode,
    draft: NodeDraft,
    addressing: Addressing,
    *,
    nameservers: bool,
    image: str = "",
) -> None:
    """`nameservers`: whether they are said here; `image`: an installer that no schematic says, without its tag."""

    def add(key: str, why: str, documents: Documents) -> None:
        if documents:
            draft.fragments[key] = Fragment(documents, node.at(key), why)

    add("hostname", "the node's host name, which is not its name here", _hostname(talconfig, node))
    add("networkInterfaces", "the node's interfaces", _interfaces(talconfig, node, addressing))
    add("nameservers", "name servers", _resolver(talconfig, node, nameservers=nameservers))
    add("nodeAnnotations", "machine.nodeAnnotations", _annotations(talconfig, node))
    add("machineFiles", "machine.files", _machine("files", _files(talconfig, node)))
    add("machineDisks", "machine.disks", _machine("disks", node.get("machineDisks")))
    add(
        "certSANs",
        "machine.certSANs: further names in the certificate",
        _machine("certSANs", _cert_sans(talconfig, node)),
    )
    add("schematic", "machine.install: kernel arguments, besides the image's", _kernel_args(talconfig, node))
    add("talosImageURL", "machine.install.image: not a schematic of the image factory", _image(image))
    add("ingressFirewall", "the firewall", _firewall(node))
    add("extensionServices", "configs of extensions", _kinds("ExtensionServiceConfig", node.get("extensionServices")))
    add("volumes", "VolumeConfig: Talos' own volumes", _kinds("VolumeConfig", node.get("volumes")))
    for key, why in _ONLY_FOR_TALHELPER.items():
        if node.get(key):
            talconfig.remarks.note(node.at(key), "this is not taken over", why)


def text_of(talconfig: Talconfig, path: Path, value: str, *, fill: bool) -> str | None:
    """The text, or that of the file which `@name` means; None if it cannot be taken over."""
    if not value.startswith("@"):
        return value
    name = value[1:].strip()
    try:
        content = read_inside(talconfig.folder, name)
    except Unusable as unusable:
        talconfig.remarks.left_out(path, f"the file {name} {unusable}", fix="copy what it says to here")
        return None
    filled = talconfig.variables.fill(content.text)
    hidden = (content.hidden_in,) if content.hidden_in else ()
    if not fill:
        return content.text if talconfig.discretion.allows(path, (), hidden) else None
    if "\n" in content.text.strip():
        why = "talhelper parses it as YAML and writes it again, without comments, unless `skipEnvsubst` is set"
        talconfig.remarks.note(path, f"the file {name} is taken as it is", why)
    return filled.text if talconfig.discretion.allows(path, filled.unknown, (*filled.hidden_in, *hidden)) else None


def _machine(key: str, value: Any) -> Documents:
    return [{"machine": {key: value}}] if value else []


def _kinds(kind: str, items: Sequence[Mapping[str, Any]] | None) -> Documents:
    return [{"apiVersion": "v1alpha1", "kind": kind, **item} for item in items or ()]


def _hostname(talconfig: Talconfig, node: TalNode) -> Documents:
    kept = not node.get("ignoreHostname")
    if kept and node.hostname == node.name:
        return []
    name: Any = node.hostname if kept else DELETE
    if not talconfig.has_documents:
        return [{"machine": {"network": {"hostname": name}}}]
    auto = {} if kept else {"auto": "stable"}
    return [{"apiVersion": "v1alpha1", "kind": "HostnameConfig", **auto, "hostname": name}]


def _interfaces(talconfig: Talconfig, node: TalNode, addressing: Addressing) -> Documents:
    static = addressing.nodes.get(node.name)
    interfaces = static.rest if static else node.get("networkInterfaces") or ()
    if not interfaces:
        return []
    if not talconfig.has_documents:
        return [{"machine": {"network": {"interfaces": list(interfaces)}}}]
    for key in {key: None for one in interfaces for key in without_document(one)}:
        why = "talhelper has no document for it either, and leaves it out"
        talconfig.remarks.note(node.at("networkInterfaces"), f"`{key}` is not taken over", why)
    return link_documents(interfaces)


def _resolver(talconfig: Talconfig, node: TalNode, *, nameservers: bool) -> Documents:
    servers = (node.get("nameservers") or []) if nameservers else []
    alone = bool(node.get("disableSearchDomain"))
    if not servers and not alone:
        return []
    if not talconfig.has_documents:
        network: dict[str, Any] = {"nameservers": servers} if servers else {}
        return [{"machine": {"network": network | ({"disableSearchDomain": True} if alone else {})}}]
    document: dict[str, Any] = {"apiVersion": "v1alpha1", "kind": "ResolverConfig"}
    if servers:
        document["nameservers"] = [{"address": server} for server in servers]
    return [document | ({"searchDomains": {"disableDefault": True}} if alone else {})]


def _annotations(talconfig: Talconfig, node: TalNode) -> Documents:
    annotations = node.get("nodeAnnotations") or {}
    return _machine("nodeAnnotations", without_templates(talconfig, node.at("nodeAnnotations"), annotations))


def _files(talconfig: Talconfig, node: TalNode) -> list[dict[str, Any]]:
    files = []
    for index, file in enumerate(node.get("machineFiles") or ()):
        path = (*node.at("machineFiles"), index)
        content = text_of(talconfig, path, file.get("content") or "", fill=not file.get("skipEnvsubst"))
        mode = _mode(file.get("permissions", 0))
        if mode is None:
            talconfig.remarks.left_out((*path, "permissions"), "this is not a file mode", fix="write it like 0o644")
        elif content is not None:
            rest = {key: file.get(key) or "" for key in ("path", "op")}
            files.append({"content": content, "permissions": mode, **rest})
    return files


def _mode(value: Any) -> Octal | None:
    if isinstance(value, int):
        return Octal(value)
    return Octal(value.removeprefix("0o"), 8) if re.fullmatch(r"0o?[0-7]{1,5}", str(value)) else None


def _cert_sans(talconfig: Talconfig, node: TalNode) -> list[str]:
    """A node's own, then its group's, unless its own stand instead."""
    own = [] if node.is_from_group("certSANs") else node.get("certSANs") or []
    group = (talconfig.data.get(GROUPS[node.role]) or {}).get("certSANs") or []
    return own if own and node.get("overrideMachineCertSANs") else [*own, *group]


def _kernel_args(talconfig: Talconfig, node: TalNode) -> Documents:
    arguments = ((node.get("schematic") or {}).get("customization") or {}).get("extraKernelArgs")
    from_image_alone = bool((node.get("machineSpec") or {}).get("useUKI"))
    if not arguments or from_image_alone or talconfig.version.line >= _SINCE_NO_KERNEL_ARGS:
        return []
    return [{"machine": {"install": {"extraKernelArgs": list(arguments)}}}]


def _image(reference: str) -> Documents:
    tag = f"{FILLED}cluster.talos_version}}"  # so that an upgrade changes it too
    return [{"machine": {"install": {"image": f"{reference}:{tag}"}}}] if reference else []


def _firewall(node: TalNode) -> Documents:
    firewall = node.get("ingressFirewall")
    if firewall is None:
        return []
    action = {"apiVersion": "v1alpha1", "kind": "NetworkDefaultActionConfig"}
    # Without a word talhelper takes the first of Talos' two actions.
    action["ingress"] = firewall.get("defaultAction") or "accept"
    return [action, *_kinds("NetworkRuleConfig", firewall.get("rules"))]
