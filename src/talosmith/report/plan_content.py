"""What is shown of a plan, in any format: groups of equal nodes, changed settings, drift, pods, the total."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from talosmith.model.drift import drift_text
from talosmith.model.resources import Setting, shown
from talosmith.plan.step import Disruption, Plan
from talosmith.report.critical import expected_time, without_implied
from talosmith.report.text import count, duration, listed, one_line

MEANS: Mapping[str, str] = {
    "restart": "components restart; the node stays up",
    "reboot": "the node is unavailable until it is back",
    "drain": "pods are evicted and start again on other nodes",
    "wipe": "all data on its disks is lost",
}
_NOUNS: tuple[tuple[Disruption, str], ...] = (("restart", "restart"), ("drain", "drain"), ("wipe", "wipe"))
_NODE_CALLS = ("file", "kube", "machine", "resource", "talos")  # calls of other areas change the provider's host
_AREAS = {"resource/": "resources", "addon/": "add-ons"}  # how the keys of their steps begin, and their title
_READY = "/ready"
_DRIFT_FIX: Mapping[str, str] = {
    "talos-version": "run an upgrade (`talosctl upgrade …`; `up` does not upgrade)",
    "machine-setting": "replace the node (`talosmith destroy -n NODE`, then `talosmith up`)",
    "kubernetes-version": "run an upgrade (`talosctl upgrade-k8s --to {wanted}`; `up` does not upgrade)",
}

Data = Mapping[str, Any]
Steps = list[Data]


def data_of(plan: Plan[Any] | Data) -> Data:
    """`plan` may also be what `Plan.as_data()` returned, such as the content of a plan file."""
    return plan.as_data() if isinstance(plan, Plan) else plan


def total(plan: Plan[Any] | Data) -> str:
    """`12 steps on 5 nodes, no reboot, ≈ 1 min 40 s`"""
    steps: Steps = list(data_of(plan)["steps"])
    if not steps:
        return "nothing to do"
    nodes = len({step["subject"] for step in steps if step["subject"]})
    parts = [count(len(steps), "step") + (f" on {count(nodes, 'node')}" if nodes else "")]
    reboots = sum(step["disruption"] == "reboot" for step in steps)
    parts.append(count(reboots, "reboot") if reboots else "no reboot")
    for disruption, noun in _NOUNS:
        number = sum(step["disruption"] == disruption for step in steps)
        if number:
            parts.append(count(number, noun))
    seconds, known = expected_time((step["key"], step["needs"], step.get("expected_seconds")) for step in steps)
    if seconds > 0:
        parts.append(f"≈ {duration(seconds)}" if known else f"{duration(seconds)} or more")
    return ", ".join(parts)


def took_before(step: Data) -> str:
    """`≈ 45 s (last runs)`; empty where no such step has run yet."""
    seconds = step.get("expected_seconds")
    return f"≈ {duration(seconds)} (last runs)" if isinstance(seconds, int | float) else ""


def verdict(data: Data) -> str:
    """The last line of a plan that has no steps, or must not be run."""
    operation, cluster = one_line(data["operation"]), one_line(data["cluster"])
    if data.get("blocked"):
        return f"plan is blocked: {operation} {cluster} cannot run" + (f" ({total(data)})" if data["steps"] else "")
    if data.get("drift"):
        nodes = len({one["node"] for one in data["drift"]})
        differ = f"{count(nodes, 'node')} {'differs' if nodes == 1 else 'differ'} from the inventory"
        return f"not in sync: {differ}; {operation} has nothing to do"
    if operation == "up":
        return f"in sync: {cluster} matches the inventory"
    return f"nothing to do: {operation} finds nothing of {cluster}"


def groups(steps: Steps) -> Iterator[tuple[str, Steps, dict[str, str]]]:
    """Title, steps, and by step when its turn is. Nodes with equal steps are one group, also if they take turns."""
    after = _order(steps)
    by_subject: dict[str, Steps] = {}
    for step in steps:
        area = step["key"].partition("/")[0] + "/"
        subject = area if area in _AREAS else one_line(step["subject"])
        by_subject.setdefault(subject, []).append(step)
    alike: dict[tuple[object, ...], list[str]] = {}
    for area in _AREAS.keys() & by_subject.keys():
        by_subject[area] = _without_waits(by_subject[area])
    for subject, group in by_subject.items():
        content = tuple(_content(step) for step in group)
        alike.setdefault((subject if subject in ("", *_AREAS) else None, content), []).append(subject)
    for subjects in alike.values():
        first = subjects[0]
        title = _AREAS.get(first) or (", ".join(subjects) if first else "cluster")
        group = by_subject[first]
        if len(subjects) > 1:
            group = [{**step, "effect": _effect(step)} for step in group]
        each = [by_subject[subject] for subject in subjects]
        group = [_with_machines(step, [steps[index] for steps in each]) for index, step in enumerate(group)]
        turns = {
            step["key"]: _turn(subjects, [after[steps[index]["key"]] for steps in each])
            for index, step in enumerate(group)
        }
        yield title, group, turns


def _without_waits(steps: Steps) -> Steps:
    """Without the steps that only wait for what another step of the group applies: that one says so."""
    keys = {step["key"] for step in steps}
    waits = {key for key in keys if key.endswith(_READY) and key.removesuffix(_READY) in keys}
    return [
        {**step, "title": f"{step['title']}, wait until ready"} if f"{step['key']}{_READY}" in waits else step
        for step in steps
        if step["key"] not in waits
    ]


def _is_new_machine(step: Data) -> bool:
    return bool(step["key"] == f"machine/{step['subject']}")


def _with_machines(step: Data, of_all: Steps) -> Data:
    """The settings of new machines take a line each: nodes that differ in address or zone alone are one group."""
    if not _is_new_machine(step):
        return step
    lines = []
    for one in filter(lambda one: one.get("settings"), of_all):
        settings = ", ".join(f"{one_line(new['name'])} {value(new['after'])}" for new in one["settings"])
        lines.append(f"{one_line(one['subject'])}: {settings}" if len(of_all) > 1 else settings)
    return {**step, "settings": (), "machines": lines}


def _order(steps: Steps) -> dict[str, set[str]]:
    """For each step that disrupts something, the other nodes that it waits for: what is done one after the other."""
    subjects = {step["key"]: one_line(step["subject"]) for step in steps}
    needs = without_implied({step["key"]: list(step["needs"]) for step in steps})
    return {
        step["key"]: set()
        if step["disruption"] == "none"
        else {subjects[need] for need in needs[step["key"]]} - {"", subjects[step["key"]]}
        for step in steps
    }


def _turn(group: Sequence[str], after: Sequence[set[str]]) -> str:
    """`after cp-3; one at a time`, from the nodes that each node of a group waits for."""
    others = sorted(set().union(*after) - {*group})
    first = sum(not waits & {*group} for waits in after)
    in_turns = any(waits & {*group} for waits in after)
    together = "one at a time" if first == 1 else f"{first} at a time"
    return "; ".join([*([f"after {listed(others)}"] if others else []), *([together] if in_turns else [])])


def _effect(step: Data) -> str:
    return one_line(step.get("effect", "")).replace(f"`{one_line(step['subject'])}`", "the node")


def _content(step: Data) -> tuple[object, ...]:
    """All that is shown of a step."""
    parts = ("title", "reason", "disruption", "expected_seconds")
    return (
        *(step.get(part) for part in parts),
        _effect(step),
        "" if _is_new_machine(step) else repr(step.get("settings")),
        pods(step),
        host_calls(step),
    )


def host_calls(step: Data) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What a step may change on the provider's host besides the machine: `libvirt` and `pool-define, …`."""
    found: dict[str, list[str]] = {}
    for call in step.get("calls", ()):
        area, _, verb = one_line(call).partition(":")
        if area not in _NODE_CALLS:
            found.setdefault(area, []).append(verb)
    return tuple((area, tuple(verbs)) for area, verbs in found.items())


def setting(one: Data) -> tuple[str, str]:
    """`+`, `-` or `~`, and the setting with its values: `machine.token: *** → *** (changed)`."""
    name, before, after = one_line(one["name"]), one["before"], one["after"]
    if before is None:
        return "+", f"{name}: {value(after)}"
    if after is None:
        return "-", f"{name}: {value(before)}"
    removed, added = items(one)
    if removed or added:
        return "~", f"{name}: {', '.join([*(f'- {item}' for item in removed), *(f'+ {item}' for item in added)])}"
    changed = " (changed)" if one.get("masked") and before == after else ""
    return "~", f"{name}: {value(before)} → {value(after)}{changed}"


def items(one: Data) -> tuple[list[str], list[str]]:
    """What a list of which a part stays loses and gets; both empty where values are shown whole."""
    before, after = one["before"], one["after"]
    if not (isinstance(before, list) and isinstance(after, list) and any(item in after for item in before)):
        return [], []
    gone, come = (
        [value(item) for item in mine if item not in theirs] for mine, theirs in ((before, after), (after, before))
    )
    return gone, come


def value(of: Setting) -> str:
    return one_line(shown(of)) or '""'


def pods(step: Data) -> str:
    """What a drain or a reboot does to the pods of its node; empty where none of them is meant."""
    found = step.get("evictions")
    if not found:
        return ""
    if found["unknown"]:
        return f"unknown ({one_line(found['unknown'])})"
    number, is_drain = int(found["pods"]), step["disruption"] == "drain"
    if not number:
        return "none to evict" if is_drain else "none to stop"
    parts = [f"{number} to evict" if is_drain else f"{number} stop until the node is back (a reboot does not drain)"]
    if found["blocking"]:
        waits = ", so the drain waits" if is_drain else ""
        parts.append(f"no disruption allowed now by PodDisruptionBudget {listed(_lines(found['blocking']))}{waits}")
    if found["bare"]:
        lost = "lost, no controller creates them again" if is_drain else "not started elsewhere, no controller"
        parts.append(f"{lost}: {listed(_lines(found['bare']))}")
    if found["empty_dir"] and is_drain:
        parts.append(f"emptyDir data lost: {count(int(found['empty_dir']), 'pod')}")
    return "; ".join(parts)


def _lines(names: Sequence[object]) -> list[str]:
    return [one_line(name) for name in names]


def drift(data: Data) -> list[tuple[str, str]]:
    """What differs from the inventory and no step or block is about, equal nodes folded; each with what helps."""
    steps = {step["subject"] for step in data["steps"]}
    blocked = {
        (name, one["name"])
        for block in data.get("blocked", ())
        for name in block["nodes"]
        for one in block["settings"]
    }
    named = {name for block in data.get("blocked", ()) for name in block["nodes"]}
    found: dict[tuple[str, str], list[str]] = {}
    for one in data.get("drift", ()):
        node, kind = one["node"], one["kind"]
        left_to_others = kind in _DRIFT_FIX
        if (node, "kubernetes_version") in blocked and kind == "kubernetes-version":
            continue
        if not left_to_others and (node in steps or node in named):
            continue
        words = {name: one_line(one[name]) for name in ("live", "wanted")}
        text = drift_text(kind, **words)
        fix = _DRIFT_FIX.get(kind, "").format(wanted=words["wanted"].removeprefix("v"))
        found.setdefault((text, fix), []).append(one_line(node))
    return [(f"{', '.join(names)}: {text}", fix) for (text, fix), names in found.items()]
