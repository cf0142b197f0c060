"""The proof that migrated patches mean the same: configs of both forms, compared by what Talos reads out of them.

The old patches are laid over configs of the form before 1.14, the new ones over configs of 1.14, with the same
stand-in secrets. What differs without any patch is what Talos 1.14 itself changes, and is named as such. Documents of
a patch that only 1.14 knows are left out on both sides, as the old form has no place for them. Where Talos 1.14 takes
the old patches as well, they must mean exactly the same there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from talosmith.desired.config.meaning import meaning
from talosmith.desired.config.meaning.differences import differing_places, masked
from talosmith.desired.config.migrate.inventory import migrate, patch_key, patches_of, scope_of, with_patches
from talosmith.desired.config.migrate.json_patch import NotMapped, as_merge
from talosmith.desired.config.nodes import compose, from_value, is_null, plain
from talosmith.desired.config.prepared import Rendered
from talosmith.desired.config.schema.since import KINDS
from talosmith.desired.machine.check import chosen_nodes, stand_in_bundle
from talosmith.desired.machine.render import MachineConfigs
from talosmith.errors import InventoryError
from talosmith.inventory.importers.yaml_text import dump_all
from talosmith.model.cluster import Cluster, Patch
from talosmith.model.resources import SettingChange
from talosmith.model.versions import Version

NEW = (1, 14)
BEFORE = Version.parse("1.13.9")  # the last form before documents, for an inventory that is at 1.14 already
AFTER = Version.parse("1.14.1")

# What Talos 1.14 changes by itself, by the beginning of its path.
_BY_TALOS = {
    "install.image": "the installer is that of the Talos version",
    "install.reboot": "the node reboots after an unattended installation as the document says",
    "install.grubUseUKICmdline": "the kernel command line comes from the image",
    "volumes.EPHEMERAL.mount": "EPHEMERAL is mounted with nosuid and nodev",
    "other_documents.FilesystemTrimConfig": "filesystems are trimmed once a week",
    "other_documents.SecurityProfileConfig": "workloads are isolated from each other",
    "api_server.startupProbes": "kube-apiserver has startup probes",
    "api_server.authenticationConfig": "kube-apiserver is given an authentication configuration",
    "api_server.extraVolumes": "kube-apiserver sees the node's CA certificates",
    "authentication": "anonymous requests are allowed for health checks only",
    "proxy.configFile": "kube-proxy is configured by a file",
    "etcd_encryption": "secrets are read encrypted only: there is no identity provider",
    "discovery.kubernetes": "nodes are announced by the discovery service alone",
    "hostname.auto": "a hostname is made from the machine's identity",
}


@dataclass(frozen=True, slots=True)
class NodeProof:
    """`differences` are those that the migration would cause: there must be none. `by_talos`: the version's own."""

    node: str
    differences: tuple[SettingChange, ...] = ()
    by_talos: tuple[SettingChange, ...] = ()
    error: str = ""
    old: Rendered | None = field(default=None, repr=False)
    new: Rendered | None = field(default=None, repr=False)

    @property
    def equal(self) -> bool:
        return not self.differences and not self.error


def why_by_talos(change: SettingChange) -> str:
    """Why Talos 1.14 changes this by itself."""
    return next((why for start, why in _BY_TALOS.items() if change.name.startswith(start)), "a new default")


def prove(before: Cluster, after: Cluster) -> Iterator[NodeProof]:
    """One node after the other. `after` is the inventory with its files rewritten."""
    bundle = stand_in_bundle()
    old, new = comparable(before, after)
    none: dict[str, Patch | None] = dict.fromkeys(patch_key(patch) for patch, _, _ in patches_of(before))
    old_version, new_version = _old_version(before), _new_version(before)
    configs = [
        MachineConfigs(replace(cluster, talos_version=version), bundle)
        for cluster, version in (
            (with_patches(before, none), old_version),
            (with_patches(before, none), new_version),
            (old, old_version),
            (new, new_version),
            (after, new_version),
        )
    ]
    unchanged = MachineConfigs(replace(before, talos_version=new_version), bundle)
    for node in chosen_nodes(before):
        yield _prove(node.name, configs, unchanged)


def _prove(node: str, configs: Sequence[MachineConfigs], unchanged: MachineConfigs) -> NodeProof:
    forms = ("no patches, old form", "no patches", "old patches", "migrated patches", "migrated inventory")
    rendered: list[Rendered] = []
    for what, one in zip(forms, configs, strict=True):
        try:
            rendered.append(one.render(one.cluster.node(node)))
        except InventoryError as wrong:
            causes = "; ".join(one.what + (f" ({one.why})" if one.why else "") for one in wrong.problems)
            return NodeProof(node, error=f"{what}: {causes}")
    plain_old, plain_new, old, new = (meaning(one.documents) for one in rendered[:4])
    by_talos = differing_places(plain_old, plain_new)
    found = differing_places(old, new)
    differing = masked([one for one in found if one not in by_talos], old, new)
    with suppress(InventoryError):  # Talos 1.14 takes the old patches, too
        same_form, migrated = (
            meaning(unchanged.render(unchanged.cluster.node(node)).documents),
            meaning(rendered[4].documents),
        )
        known = [change.name for change in differing]
        again = masked(differing_places(same_form, migrated), same_form, migrated)
        differing += [change for change in again if change.name not in known]
    return NodeProof(
        node,
        tuple(differing),
        tuple(masked([one for one in found if one in by_talos], old, new)),
        old=rendered[2],
        new=rendered[4],
    )


def _old_version(cluster: Cluster) -> Version:
    return cluster.talos_version if cluster.talos_version.line < NEW else BEFORE


def _new_version(cluster: Cluster) -> Version:
    return cluster.talos_version if cluster.talos_version.line >= NEW else AFTER


def comparable(before: Cluster, after: Cluster) -> tuple[Cluster, Cluster]:
    """Both inventories such that the old form can hold the first: without documents that only Talos 1.14 knows."""
    stripped = {patch_key(patch): _stripped(patch) for patch, _, _ in patches_of(before)}
    old = with_patches(before, {key: patch for key, (patch, _) in stripped.items()})
    if not any(has_newest for _, has_newest in stripped.values()):
        return old, after
    new, controlplane = dict[str, Patch | None](), list[Patch]()
    for patch, roles, nodes in patches_of(old):
        made = migrate(patch, scope_of(before, roles, nodes))
        new[patch_key(patch)] = Patch(patch.source, text=made.text) if made.text else None
        if made.controlplane:
            controlplane.append(Patch(patch.source, text=made.controlplane))
    exchanged = with_patches(old, new)
    roles_now = dict(exchanged.role_patches)
    roles_now["controlplane"] = (*controlplane, *roles_now.get("controlplane", ()))
    return old, replace(exchanged, role_patches=roles_now)


def _stripped(patch: Patch) -> tuple[Patch | None, bool]:
    """The patch in a form that configs before 1.14 take, and whether something was left out."""
    nodes = [from_value(patch.value)] if patch.text is None else compose(patch.text, patch.source)
    values = [plain(node) for node in nodes if not is_null(node)]
    if len(values) == 1 and isinstance(values[0], list):
        try:
            return Patch(patch.source, value=as_merge(values[0])), False
        except NotMapped:
            return patch, False
    kept = [one for one in values if KINDS.get(str(one.get("kind")), (0, 0)) < NEW]
    if len(kept) == len(values):
        return patch, False
    return (Patch(patch.source, text=dump_all(kept)) if kept else None), True
