"""The patches of a talconfig: written inline or in files, for all nodes, groups and single nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import yaml

from talosmith.inventory.importers.placing import Change, Refuse, Scope, Touched, name_for, slug, touched_by
from talosmith.inventory.importers.reading import Unusable, read_inside
from talosmith.inventory.importers.remarks import dotted
from talosmith.inventory.importers.talconfig.source import GROUPS, Talconfig, TalNode
from talosmith.inventory.parse import Path, Unreadable, parse
from talosmith.model.cluster import Role

_TEMPLATE = "{{"
NO_TEMPLATES = "patches here are data; nothing in them is run"


class Patches:
    """Makes changes of patches; what cannot be taken over goes to the talconfig's remarks."""

    def __init__(self, talconfig: Talconfig, refuse: Refuse) -> None:
        self._talconfig = talconfig
        self._refuse = refuse

    def all(self) -> list[Change]:
        """In talhelper's order: the groups', the nodes', those for all, and last the extra manifests."""
        talconfig = self._talconfig
        found: list[Change | None] = []
        for role, key in GROUPS.items():
            for index, text in enumerate((talconfig.data.get(key) or {}).get("patches") or ()):
                nodes = [node for node in talconfig.of_role(role) if _takes_group_patches(node)]
                found.append(self._change((key, "patches", index), text, self._scope(role, nodes), nodes))
        for node in talconfig.nodes:
            if not node.is_from_group("patches"):
                for index, text in enumerate(node.get("patches") or ()):
                    found.append(self._change((*node.path, "patches", index), text, "nodes", [node]))
        for index, text in enumerate(talconfig.data.get("patches") or ()):
            found.append(self._change(("patches", index), text, "global", talconfig.nodes))
        found += self._extra_manifests()
        return [change for change in found if change is not None]

    def _extra_manifests(self) -> Iterator[Change | None]:
        """Documents that talhelper appends: a node's own, then its group's, unless its own stand instead."""
        key = "extraManifests"
        for node in self._talconfig.nodes:
            if not node.is_from_group(key):
                for index, name in enumerate(node.get(key) or ()):
                    yield self._change((*node.path, key, index), f"@{name.removeprefix('@')}", "nodes", [node])
        for role, group in GROUPS.items():
            for index, name in enumerate((self._talconfig.data.get(group) or {}).get(key) or ()):
                nodes = [
                    node
                    for node in self._talconfig.of_role(role)
                    if node.is_from_group(key) or not node.get("overrideExtraManifests")
                ]
                scope = self._scope(role, nodes)
                yield self._change((group, key, index), f"@{name.removeprefix('@')}", scope, nodes)

    def _scope(self, role: Role, nodes: Sequence[TalNode]) -> Scope:
        """A group's patch is the role's, unless nodes of the role have their own instead."""
        return role if len(nodes) == len(self._talconfig.of_role(role)) else "nodes"

    def _change(self, path: Path, text: str, scope: Scope, nodes: Sequence[TalNode]) -> Change | None:
        names = frozenset(node.name for node in nodes)
        if not names:
            self._talconfig.remarks.note(path, "this is for no node", "so it is not taken over")
            return None
        origin, stem = f"{dotted(path)} of {self._talconfig.file.name}", ""
        if text.startswith("@"):
            name = text[1:].strip()
            read = self._read(path, name)
            if read is None:
                return None
            origin, text = f"{name}, which {dotted(path)} of {self._talconfig.file.name} names", read
            stem = slug(name.rpartition("/")[2].partition(".")[0])
        elif _TEMPLATE in text:
            self._talconfig.remarks.left_out(path, "this patch is a template", NO_TEMPLATES, "write what it gives")
            return None
        made = self._checked(path, origin, text)
        if made is None:
            return None
        text, touched = made
        return Change(stem or name_for(touched), text, scope, names, touched)

    def _checked(self, path: Path, origin: str, text: str) -> tuple[str, Touched] | None:
        """The text of the file to be written, and what it touches."""
        remarks = self._talconfig.remarks
        try:
            documents = parse(text.encode(), origin, several=True).documents
        except Unreadable as unreadable:
            remarks.left_out(path, f"this patch cannot be read: {unreadable}", f"line {unreadable.problems[0].line}")
            return None
        touched = touched_by(documents)
        if not touched:
            return None  # nothing but comments; talhelper skips such a file too
        escaped = text.replace("${", "$${")  # to an inventory `${…}` is a value of its own
        refused = self._refuse(escaped, dotted(path))
        if refused:
            remarks.left_out(path, "this patch is not one that Talos takes", refused)
            return None
        return f"# From {origin}.\n{_ended(escaped)}", touched

    def _read(self, path: Path, name: str) -> str | None:
        """The text of the file, with variables filled in."""
        talconfig = self._talconfig
        try:
            content = read_inside(talconfig.folder, name)
        except Unusable as unusable:
            talconfig.remarks.left_out(path, f"the file {name} {unusable}", fix="copy what it says to here")
            return None
        if _TEMPLATE in content.text:
            at = _line_of(content.text, _TEMPLATE)
            talconfig.remarks.left_out(
                path, f"the patch {name} is a template", NO_TEMPLATES, "write what it gives", at=(content.file, at)
            )
            return None
        try:
            filled = talconfig.variables.fill_yaml(content.text)
        except yaml.YAMLError as wrong:
            mark = getattr(wrong, "problem_mark", None)
            at = mark.line + 1 if mark else 0
            what = f"the patch {name} is not YAML: {getattr(wrong, 'problem', '')}"
            talconfig.remarks.left_out(path, what, at=(content.file, at))
            return None
        hidden = (*filled.hidden_in, *([content.hidden_in] if content.hidden_in else []))
        if not talconfig.discretion.allows(path, filled.unknown, hidden):
            return None
        return filled.text


def _takes_group_patches(node: TalNode) -> bool:
    """A node may say that its own patches stand instead of its group's; one without any still has the group's."""
    return not node.get("overridePatches") or node.is_from_group("patches")


def _ended(text: str) -> str:
    """With a line break at the end, unless that would become part of a block scalar which ends the text."""
    if text.endswith("\n"):
        return text
    ended = f"{text}\n"
    same = parse(text.encode(), "", several=True).documents == parse(ended.encode(), "", several=True).documents
    return ended if same else text


def _line_of(text: str, part: str) -> int:
    return text.count("\n", 0, text.find(part)) + 1
