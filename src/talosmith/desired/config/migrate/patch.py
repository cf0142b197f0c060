"""Rewrites a patch in v1alpha1 form to documents, as text. Pure: it reads and writes no file.

Existing documents stay as they are. What Talos 1.14 has no document for stays in v1alpha1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import yaml

from talosmith.desired.config.migrate import special, special_cluster
from talosmith.desired.config.migrate.json_patch import NotMapped, as_merge
from talosmith.desired.config.migrate.moved import Kept, Migration, Moved, Scope, dotted
from talosmith.desired.config.migrate.mover import Mover
from talosmith.desired.config.migrate.rules import RULES
from talosmith.desired.config.migrate.source import Branch, Source, made, write
from talosmith.desired.config.nodes import MappingNode, Node, SequenceNode, compose, is_null, plain

_BEFORE: tuple[Callable[[Mover], None], ...] = (
    special_cluster.api_server_arguments,
    special_cluster.api_server,
    special_cluster.proxy_arguments,
)
_AFTER: tuple[Callable[[Mover], None], ...] = (
    special.kubelet,
    special_cluster.scheduling,
    special.hostname,
    special.name_servers,
    special.host_entries,
    special.interfaces,
    special.kernel_modules,
    special.static_pods,
    special.files,
    special.registries,
    special.features,
    special.install,
    special_cluster.endpoint,
    special_cluster.cni,
    special_cluster.discovery,
    special_cluster.manifests,
    special_cluster.secrets,
)


def migrate_patch(text: str, source: str = "patch", scope: Scope | None = None) -> Migration:
    """The patch in the form of Talos 1.14. Raises `ConfigError` for text that is no patch."""
    nodes = [node for node in compose(text, source) if not is_null(node)]
    if nodes and isinstance(nodes[0], SequenceNode):
        return _operations(nodes[0], text, source, scope or Scope())
    if not any(_is_main(node) for node in nodes):
        return Migration(source, text)
    parts = _Parts(scope or Scope())
    lines = Source(text)
    aliased = _has_aliases(text)
    above = -1
    for index, node in enumerate(nodes):
        end = nodes[index + 1].start_mark.line if index + 1 < len(nodes) else len(lines.lines)
        if _is_main(node) and isinstance(node, MappingNode):
            tree = made(plain(node)) if aliased else lines.tree(node, above)
            tree.foot = lines.foot(node, end) if not aliased and index + 1 == len(nodes) else ()
            parts.main(tree, _raw(lines, above, node, end))
        else:
            parts.other(_raw(lines, above, node, end))
        above = lines.last_line(node)
    return parts.migration(source, text)


def migrate_value(value: dict[str, Any] | Sequence[Any], source: str, scope: Scope | None = None) -> Migration:
    """The same for a patch that an inventory holds as a plain value."""
    from talosmith.inventory.importers.yaml_text import dump

    return migrate_patch(dump(value), source, scope)


class _Parts:
    """The texts that a patch becomes: for all of its nodes, and for control planes alone."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.everywhere: list[str] = []
        self.controlplane: list[str] = []
        self.moved: list[Moved] = []
        self.kept: list[Kept] = []

    def main(self, tree: Branch, raw: str) -> None:
        mover = Mover(tree, self.scope)
        for before in _BEFORE:
            before(mover)
        for rule in RULES:
            if rule.old not in mover.held:
                mover.apply(rule)
        for after in _AFTER:
            after(mover)
        self.moved += mover.moved
        self.kept += mover.kept
        if not mover.moved:
            self.everywhere.append(raw)
            return
        if [entry for entry in tree.entries if entry.key != "version"]:
            self.everywhere.append(write(tree))
        for (_, _, only), text in mover.texts():
            self._add(text, only=only)
        if not self.everywhere and not self.controlplane and tree.foot:
            self.everywhere.append("".join(f"{comment}\n" for comment in tree.foot))

    def other(self, raw: str) -> None:
        self.everywhere.append(raw)

    def _add(self, text: str, *, only: bool) -> None:
        roles = self.scope.roles
        if only and "controlplane" not in roles:
            return  # workers never read it
        (self.controlplane if only and "worker" in roles else self.everywhere).append(text)

    def migration(self, source: str, text: str) -> Migration:
        if not self.moved:
            return Migration(source, text, kept=tuple(self.kept))
        everywhere, controlplane = ("---\n".join(parts) for parts in (self.everywhere, self.controlplane))
        return Migration(source, everywhere, controlplane, tuple(self.moved), tuple(self.kept))


def _operations(node: SequenceNode, text: str, source: str, scope: Scope) -> Migration:
    """RFC 6902 operations as a merge patch, if each of them has an equal; Talos takes none beside documents."""
    try:
        merge = as_merge(plain(node))
    except NotMapped as problem:
        kept = Kept(
            dotted(problem.path),
            f"the RFC 6902 operation has no equal: {problem}",
            "write it as a strategic merge patch: Talos takes RFC 6902 only for configs of one document",
            blocking=True,
            line=node.start_mark.line + 1,
        )
        return Migration(source, text, kept=(kept,))
    parts = _Parts(scope)
    tree = made(merge)
    parts.main(tree, "")
    if not parts.moved:
        parts.everywhere = [write(made(merge))]
        parts.moved.append(Moved("RFC 6902 operations", "strategic merge", "Talos takes none beside documents"))
    return parts.migration(source, text)


def _is_main(node: Node) -> bool:
    return isinstance(node, MappingNode) and not any(key.value == "kind" for key, _ in node.value)


def _raw(lines: Source, above: int, node: Node, end: int) -> str:
    """A document's text with the comments above it."""
    last = len(lines.lines) if end == len(lines.lines) else lines.last_line(node) + 1
    chosen = lines.lines[above + 1 : last]
    while chosen and (not chosen[0].strip() or chosen[0].startswith("---")):
        chosen.pop(0)
    return "".join(f"{line}\n" for line in chosen if not line.startswith("---"))


def _has_aliases(text: str) -> bool:
    return "*" in text and any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text))
