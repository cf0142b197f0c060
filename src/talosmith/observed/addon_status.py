"""The state of each add-on in a word, for `status` and `addons list`; pure: made from what was observed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from talosmith.desired.target import Desired
from talosmith.observed.world import AddonSeen, AddonsSeen, Observed, Unknown

AddonState = Literal[
    "in-sync",
    "differs",
    "not-installed",
    "not-ready",
    "managed",  # by Flux, Argo CD, Helm, or another tool
    "built-in",  # Talos installs it
    "invalid",  # cannot be rendered
    "not-in-inventory",
    "unknown",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddonStatus:
    name: str
    state: AddonState
    version: str = ""  # of the chart that the inventory asks for
    installed_version: str = ""
    namespace: str = ""
    enabled_by: str = ""  # the key of the inventory, or the other add-on
    detail: str = ""

    @property
    def in_sync(self) -> bool:
        return self.state in ("in-sync", "managed", "built-in", "not-ready")

    @property
    def problem(self) -> str:
        """Why the add-on does not work; empty: nothing is known to be wrong."""
        return f"add-on {self.name}: {self.detail}" if self.state == "not-ready" else ""


def addon_statuses(desired: Desired, observed: Observed) -> tuple[AddonStatus, ...]:
    """Every add-on of the inventory in its order, then those that the inventory no longer has."""
    seen = observed.addons
    each = seen.each if isinstance(seen, AddonsSeen) else {}
    problems = {one.addon: one.what for one in desired.addon_problems}
    found = []
    for name, enabled in desired.cluster.addons.items():
        state, detail = _state(each.get(name), problems.get(name, ""), seen, is_built_in=name not in desired.addons)
        found.append(
            AddonStatus(
                name=name,
                state=state,
                version=desired.addons[name].version if name in desired.addons else "",
                installed_version=each[name].version if name in each else "",
                namespace=enabled.namespace,
                enabled_by=enabled.reason,
                detail=detail,
            )
        )
    former = seen.not_in_inventory.values() if isinstance(seen, AddonsSeen) else ()
    found += [
        AddonStatus(
            name=one.name,
            state="not-in-inventory",
            installed_version=one.version,
            detail="no longer in the inventory: `talosmith up` removes it",
        )
        for one in former
    ]
    return tuple(found)


def _state(
    one: AddonSeen | None, problem: str, seen: AddonsSeen | Unknown | None, *, is_built_in: bool
) -> tuple[AddonState, str]:
    if problem:
        return "invalid", problem
    if is_built_in:
        return "built-in", "installed by Talos"
    if isinstance(seen, Unknown):
        return "unknown", seen.why
    if one is None:
        return "not-installed", ""
    if one.manager:
        return "managed", f"managed by {one.manager}" + ("" if one.in_sync else "; differs from the inventory")
    if not one.installed:
        return "not-installed", ""
    if not one.in_sync:
        differing = [change for change in one.changes if change.outcome != "kept"]
        return "differs", ", ".join(f"{change.ref} {_WORDS[change.outcome]}" for change in differing[:3])
    return ("not-ready", "; ".join(one.unready)) if one.unready else ("in-sync", "")


_WORDS = {
    "created": "is missing", "changed": "differs", "pruned": "is no longer wanted", "refused": "cannot be changed",
}  # fmt: skip
