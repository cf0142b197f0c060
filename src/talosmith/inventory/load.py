"""The way from files to a Cluster: read, merge, check the form, resolve, check the rules. Every problem in one go."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from talosmith.errors import InventoryError, Problem
from talosmith.files.regular import shown
from talosmith.inventory import rules
from talosmith.inventory.explain import explain, path_in_files
from talosmith.inventory.findings import Finding
from talosmith.inventory.merge import Merged, show_line
from talosmith.inventory.origins import Origin, origins
from talosmith.inventory.parse import Document, Path
from talosmith.inventory.patches import PatchFiles
from talosmith.inventory.resolve import GROUP, Resolved, Unresolvable, resolve
from talosmith.inventory.schema import Inventory
from talosmith.inventory.sources import Sources, find, read
from talosmith.model.allowed import EVERYTHING, Allowed
from talosmith.model.cluster import Cluster
from talosmith.model.services import AddonSettings

_IDENTITY = {"name", "ip", "mac_addr", "vmid"}  # another node may be found the same as one whose own is wrong


@dataclass
class Report:
    """The result of checking an inventory: the cluster if it is valid, and all problems."""

    file: str
    problems: list[Problem] = field(default_factory=list)
    resolved: Resolved | None = None
    merged: Merged | None = None
    paths: dict[Problem, Path] = field(default_factory=dict, repr=False)  # which key of the inventory each is about
    allowed: dict[Problem, tuple[Allowed, Problem]] = field(default_factory=dict, repr=False)  # warning: as an error

    @property
    def cluster(self) -> Cluster:
        """The cluster; an inventory with errors has none."""
        if self.resolved is None or not self.valid:
            raise InventoryError(self.problems)
        return self.resolved.cluster

    def origins(self) -> list[Origin]:
        """For each value of the cluster, where it comes from."""
        if self.resolved is None or self.merged is None:
            raise InventoryError(self.problems)
        return list(origins(self.resolved, self.merged))

    @property
    def warnings(self) -> list[Problem]:
        return [problem for problem in self.problems if problem.severity == "warning"]

    @property
    def valid(self) -> bool:
        return all(problem.severity != "error" for problem in self.problems)


def load(inventory: str | os.PathLike[str] | None = None, environment: str | None = None) -> Cluster:
    """The cluster an inventory describes; raises `InventoryError` with every problem if it is wrong.

    Versions that are not supported together are accepted: `validate`, `plan` and `up` refuse them.
    """
    return check(inventory, environment, allow=EVERYTHING).cluster


def check(
    inventory: str | os.PathLike[str] | None = None,
    environment: str | None = None,
    *,
    machines: bool = False,
    allow: Collection[Allowed] = (),
) -> Report:
    """Every problem of an inventory, and its cluster. Nothing is written.

    `machines`: the caller works with machines, so a provider that is not built is an error instead of a warning.
    `allow`: what is a warning instead of an error.
    """
    cluster_file = find(inventory, environment)
    return check_sources(read(cluster_file), shown(cluster_file), machines=machines, allow=allow)


def check_sources(sources: Sources, name: str, *, machines: bool = False, allow: Collection[Allowed] = ()) -> Report:
    """The same, of an inventory that is read already."""
    report = Report(name)
    merged = Merged(sources)
    # Where a file cannot be read, values missing from the rest are not reported.
    if not sources.problems:
        report.merged = merged
        _check_content(report, merged, machines=machines, allow=allow)
    report.problems[:0] = _with_lines(sources)
    report.problems = sorted(dict.fromkeys(report.problems), key=_order)
    return report


def _check_content(report: Report, merged: Merged, *, machines: bool, allow: Collection[Allowed]) -> None:
    inventory, wrong = _form(report, merged)
    if inventory is None:
        return
    whole = not wrong
    inventory = _with_absolute_paths(inventory, merged)
    patches = PatchFiles(merged)
    try:
        resolved = resolve(inventory, patches)
    except Unresolvable as unresolvable:
        if whole:
            _tell(report, merged, unresolvable.findings)
        return
    found = list(rules.check(resolved, only_certain=not whole, machines=machines))
    if whole:
        names = {node.name for node in resolved.cluster.nodes}
        found += patches.unused(names)
        report.problems += patches.not_applied(names)
        report.resolved = resolved
    _tell(report, merged, [finding for finding in found if whole or _stands(finding, wrong, merged)], allow)


def _with_absolute_paths(inventory: Inventory, merged: Merged) -> Inventory:
    """A file that is read later is relative to the inventory that names it, not to the current folder."""
    proxmox = inventory.proxmox
    if proxmox is not None and proxmox.ca:
        path = _absolute(proxmox.ca, ("proxmox", "ca"), merged)
        inventory = inventory.model_copy(update={"proxmox": proxmox.model_copy(update={"ca": path})})
    addons = {name: _addon_with_paths(name, one, merged) for name, one in inventory.addons.items()}
    return inventory.model_copy(update={"addons": addons}) if addons else inventory


def _addon_with_paths(name: str, addon: AddonSettings, merged: Merged) -> AddonSettings:
    given = {key: getattr(addon, key) for key in ("chart", "manifests")}
    paths = {
        key: _absolute(value, ("addons", name, key), merged)
        for key, value in given.items()
        if value and (key == "manifests" or value.startswith(("./", "../", "/", "~")))
    }
    return addon.model_copy(update=paths) if paths else addon


def _absolute(text: str, path: Path, merged: Merged) -> str:
    whole = os.path.expanduser(text)  # noqa: PTH111 - a user that does not exist is no error here
    return os.path.normpath(merged.layer_of(path).folder.absolute() / whole)


def _form(report: Report, merged: Merged) -> tuple[Inventory | None, list[Path]]:
    """The inventory in its checked form, and the paths of what had to be left out of it.

    A value of the wrong form is reported and left out, so that the rules can still be applied to the rest.
    """
    try:
        return Inventory.model_validate(merged.data), []
    except ValidationError as invalid:
        wrong = list(explain(invalid, merged))
    report.problems += [problem for _, problem in wrong]
    report.paths |= {problem: path for path, problem in wrong}
    rest = merged.data
    for path, _ in wrong:
        rest = _without(rest, path)
    try:
        return Inventory.model_validate(rest), [path for path, _ in wrong]
    except ValidationError:
        return None, []


def _stands(finding: Finding, wrong: list[Path], merged: Merged) -> bool:
    """Whether a finding holds whatever the invalid values should be: it is about an explicit value."""
    given = path_in_files(finding.path, merged.data)
    if not given or given[-1] != finding.path[-1]:
        return False
    return not any(path[0] in GROUP.values() and path[-1] in _IDENTITY for path in wrong if path)


def _without(data: Any, path: Path) -> Any:
    """A copy without the value at `path`; items of lists stay, emptied, so that later paths keep their meaning."""
    if not path:
        return {}
    step, rest = path[0], path[1:]
    if isinstance(data, dict) and step in data:
        if not rest:
            return {key: value for key, value in data.items() if key != step}
        return data | {step: _without(data[step], rest)}
    if isinstance(data, list) and isinstance(step, int) and step < len(data):
        return [*data[:step], _without(data[step], rest), *data[step + 1 :]]
    return data


def _tell(report: Report, merged: Merged, findings: list[Finding], allow: Collection[Allowed] = ()) -> None:
    for finding in findings:
        problem = _problem(finding, merged)
        if finding.allow is not None and finding.allow in allow:
            refused, problem = problem, _problem(finding.as_warning(), merged)
            report.allowed[problem] = finding.allow, refused
        report.problems.append(problem)
        report.paths[problem] = finding.path


def _problem(finding: Finding, merged: Merged) -> Problem:
    path = path_in_files(finding.path, merged.data)
    return merged.problem(finding.severity, path, finding.what, finding.why, finding.fix)


def _with_lines(sources: Sources) -> list[Problem]:
    documents: dict[str, Document] = {
        document.file: document for layer in sources.layers for document in layer.documents
    }
    return [
        show_line(problem, documents[problem.file]) if problem.file in documents else problem
        for problem in sources.problems
    ]


def _order(problem: Problem) -> tuple[int, str, int, int]:
    return ("error", "warning", "note").index(problem.severity), problem.file, problem.line, problem.column
