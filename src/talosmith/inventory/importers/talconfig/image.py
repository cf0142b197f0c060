"""Which installer image each node has: talhelper's schematics, as the inventory's `image` and `schematic` keys."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from talosmith.inventory.importers.talconfig.source import Talconfig, TalNode

DEFAULT_FACTORY = "factory.talos.dev"
SchematicId = Callable[[Mapping[str, Any]], str]
"""The id of a schematic, from its fields: `extensions`, `kernel_args`, `meta`, `overlay_name` and so on."""

_INSTALLER = "{{.RegistryURL}}/{{.Mode}}-installer{{if .Secureboot}}-secureboot{{end}}/{{.ID}}:{{.Version}}"
_CONDITION = re.compile(r"\{\{-?\s*if\s+\.Secureboot\s*-?\}\}([^{}]*)\{\{-?\s*end\s*-?\}\}")
_FIELD = re.compile(r"\{\{-?\s*\.(RegistryURL|Mode|ID)\s*-?\}\}")
_VERSION = re.compile(r"\{\{-?\s*\.Version\s*-?\}\}")
_FROM_FACTORY = re.compile(r"(?P<factory>[^/]+)/(?:metal-)?installer(?P<secure>-secureboot)?/(?P<id>[0-9a-f]{64})\Z")
_OF_THE_CLUSTER = ("extensions", "kernel_args")
_TOLD = (*_OF_THE_CLUSTER, "overlay_name", "overlay_image")


@dataclass(frozen=True, slots=True)
class NodeImage:
    """A schematic of a factory, or another image by its name."""

    schematic: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    secureboot: bool = False
    reference: str = ""  # without a tag


@dataclass(frozen=True, slots=True)
class Images:
    """The cluster's `image` section, and what nodes have that differs from it."""

    section: Mapping[str, Any]
    comment: str
    node_keys: Mapping[str, Mapping[str, Any]]
    node_comments: Mapping[str, str]
    references: Mapping[str, str]  # images that no schematic says, by node


def find_images(talconfig: Talconfig, schematic_id: SchematicId) -> Images:
    factory = (talconfig.data.get("imageFactory") or {}).get("registryURL") or DEFAULT_FACTORY
    images = {node.name: _image(talconfig, node, factory, schematic_id) for node in talconfig.nodes}
    common = Counter(image.schematic for image in images.values() if image.schematic).most_common(1)
    section: dict[str, Any] = {}
    comment = ""
    if common:
        chosen = next(image for image in images.values() if image.schematic == common[0][0])
        section, comment = _section(chosen)
        if factory != DEFAULT_FACTORY:
            section["factory"] = factory
    everywhere = all(image.secureboot for image in images.values())
    if everywhere:
        section["secureboot"] = True
    node_keys: dict[str, dict[str, Any]] = {}
    for name, image in images.items():
        keys: dict[str, Any] = {}
        if image.schematic and image.schematic != common[0][0]:
            keys["schematic"] = image.schematic
        if image.secureboot and not everywhere:
            keys["secureboot"] = True
        node_keys[name] = keys
    return Images(
        section=section,
        comment=comment,
        node_keys=node_keys,
        node_comments={name: _described(image.fields) for name, image in images.items()},
        references={name: image.reference for name, image in images.items() if image.reference},
    )


def _section(image: NodeImage) -> tuple[dict[str, Any], str]:
    given = {key: value for key, value in image.fields.items() if value}
    if given and given.keys() <= set(_OF_THE_CLUSTER):
        return {key: list(given[key]) for key in _OF_THE_CLUSTER if key in given}, ""
    return {"schematic": image.schematic}, _described(image.fields)


def _described(fields: Mapping[str, Any]) -> str:
    """What a schematic's id stands for, in one line."""
    if not fields:
        return ""
    lists = {"extensions": fields["extensions"], "kernel arguments": fields["kernel_args"]}
    parts = [f"{name} {', '.join(value)}" for name, value in lists.items() if value]
    if fields["overlay_name"]:
        parts.append(f"overlay {fields['overlay_name']}")
    more = [key for key in fields if key not in _TOLD and fields[key]]
    parts += [key.replace("_", " ") for key in more]
    return f"Made of: {'; '.join(parts)}." if parts else "The plain image, from the image factory."


def _image(talconfig: Talconfig, node: TalNode, factory: str, schematic_id: SchematicId) -> NodeImage:
    spec = node.get("machineSpec") or {}
    secureboot = bool(spec.get("secureboot"))
    url = node.get("talosImageURL")
    if url:
        found = _FROM_FACTORY.match(url)
        if found and found["factory"] == factory:
            if node.get("schematic") is not None:
                why = "talhelper takes the image of talosImageURL"
                talconfig.remarks.note(node.at("schematic"), "the schematic is not used", why)
            return NodeImage(schematic=found["id"], secureboot=bool(found["secure"]))
        return NodeImage(reference=url, secureboot=secureboot)
    schematic = node.get("schematic") or {}
    if schematic.get("owner"):
        what = "the owner of a schematic is not known here"
        talconfig.remarks.left_out((*node.at("schematic"), "owner"), what, "its id would be another one")
    fields = schematic_fields(schematic)
    name = schematic_id(fields)
    template = (talconfig.data.get("imageFactory") or {}).get("installerURLTmpl") or _INSTALLER
    reference = _reference(template, factory, spec.get("mode") or "metal", name, secureboot=secureboot)
    if reference is None:
        what = "the template of the installer's address is not understood"
        why = "only the plain fields of talhelper's own template are"
        fix = "say the image in a patch: machine.install.image"
        talconfig.remarks.left_out(("imageFactory", "installerURLTmpl"), what, why, fix)
        return NodeImage(schematic=name, fields=fields, secureboot=secureboot)
    if _FROM_FACTORY.match(reference):
        return NodeImage(schematic=name, fields=fields, secureboot=secureboot)
    return NodeImage(reference=reference, secureboot=secureboot)


def _reference(template: str, factory: str, mode: str, name: str, *, secureboot: bool) -> str | None:
    """The installer without its tag, or None if the template says more than can be told without running it."""
    text = _CONDITION.sub(r"\1" if secureboot else "", template)
    values = {"RegistryURL": factory, "Mode": mode, "ID": name}
    text = _FIELD.sub(lambda found: values[found[1]], text)
    text, colon, tag = text.rpartition(":")
    if not colon or not _VERSION.fullmatch(tag) or "{{" in text:
        return None
    return text


def schematic_fields(schematic: Mapping[str, Any]) -> dict[str, Any]:
    """A talconfig's schematic in the words that ids are made from."""
    custom, overlay = schematic.get("customization") or {}, schematic.get("overlay") or {}
    secureboot = custom.get("secureboot") or {}
    return {
        "extensions": tuple((custom.get("systemExtensions") or {}).get("officialExtensions") or ()),
        "kernel_args": tuple(custom.get("extraKernelArgs") or ()),
        "meta": tuple((one.get("key") or 0, one.get("value") or "") for one in custom.get("meta") or ()),
        "overlay_image": overlay.get("image") or "",
        "overlay_name": overlay.get("name") or "",
        "overlay_options": overlay.get("options") or {},
        "bootloader": custom.get("bootloader") or "",
        "enroll_keys": secureboot.get("enrollKeys") or "",
        "include_well_known_certificates": bool(secureboot.get("includeWellKnownCertificates")),
        "sector_size": (custom.get("diskImage") or {}).get("sectorSize") or 0,
        "embedded_config": custom.get("embeddedMachineConfiguration") or "",
    }
