"""Whose a VM is: a line in its description, beside the tag.

Proxmox copies tags and description to every clone and every restored backup, so the line names the VMID that it was
written for; in another VM it means nothing. A template's line is not a machine's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from talosmith.model.cluster import Role
from talosmith.model.machines import CLUSTER_TAG, ID_TAG, NODE_TAG, ROLE_TAG, MachineSpec, Owner

TAG, TEMPLATE_TAG = "talosmith", "talosmith-template"
_LINE = re.compile(r"^talosmith (machine|template) (.+)$", re.MULTILINE)
_FIELDS = {"cluster": CLUSTER_TAG, "id": ID_TAG, "node": NODE_TAG, "role": ROLE_TAG}
_ROLES = {"controlplane": "control plane", "worker": "worker"}


def owner_tag(owner: Owner) -> str:
    return f"{TAG}-{owner.id}"


@dataclass(frozen=True, slots=True)
class Marker:
    """`machine` or `template`, and the fields of its line; empty for a VM that is not talosmith's."""

    kind: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def tags(self) -> dict[str, str]:
        return {tag: self.fields[name] for name, tag in _FIELDS.items() if name in self.fields}

    @property
    def node(self) -> str:
        return self.fields.get("node", "")

    @property
    def role(self) -> Role:
        return cast(Role, self.fields.get("role", ""))

    @property
    def address(self) -> str:
        return self.fields.get("address", "")

    @property
    def unfinished(self) -> bool:
        return "unfinished" in self.fields

    @property
    def is_machine(self) -> bool:
        return self.kind == "machine" and self.role in _ROLES and bool(self.node)

    def is_of(self, owner: Owner) -> bool:
        return self.is_machine and owner.owns(self.tags)


def read(description: str, vmid: int) -> Marker:
    found = _LINE.search(description)
    if found is None:
        return Marker()
    fields = dict(word.partition("=")[::2] for word in found[2].split())
    return Marker(found[1], fields) if fields.get("vmid") == str(vmid) else Marker()


def describe_machine(owner: Owner, spec: MachineSpec, vmid: int, *, unfinished: bool = False) -> str:
    """`unfinished`: until the VM has all that the inventory wants."""
    fields = {
        "cluster": owner.cluster,
        "id": owner.id,
        "node": spec.name,
        "role": spec.role,
        "vmid": str(vmid),
        "address": str(spec.ip),
        **({"unfinished": "1"} if unfinished else {}),
    }
    title = f"Talos node {spec.name}, {_ROLES[spec.role]} of the cluster {owner.cluster}, managed by talosmith."
    return _text(title, "machine", fields)


def describe_template(image: str, storage: str, vmid: int, *, kept: bool) -> str:
    """`kept`: created by the user; no cluster deletes it."""
    fields = {"image": image, "storage": storage, "vmid": str(vmid), **({"kept": "1"} if kept else {})}
    return _text(f"Template of Talos, from {image}, managed by talosmith.", "template", fields)


def _text(title: str, kind: str, fields: Mapping[str, str]) -> str:
    line = " ".join(f"{name}={value}" for name, value in fields.items())
    return f"{title}\n\nThe next line is talosmith's; it finds its VMs by it.\n\ntalosmith {kind} {line}\n"
