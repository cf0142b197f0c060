"""What pydantic found becomes problems that a person can act on: in our words, with a place and a likely fix."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from talosmith.errors import Problem
from talosmith.inventory.json_schema import keys_at, places_of
from talosmith.inventory.merge import Merged, has
from talosmith.inventory.parse import Path

# Names that other tools use for the same thing.
_ELSEWHERE = {
    "address": "ip",
    "cluster_api_addr": "network.vip",
    "cluster_endpoint": "network.endpoint",
    "cluster_pod_cidr": "network.pod_cidr",
    "cluster_svc_cidr": "network.svc_cidr",
    "cluster_vip": "network.vip",
    "cores": "cpu",
    "clusterName": "cluster_name",
    "default_gateway": "network.gateway",
    "hostname": "name",
    "ipAddress": "ip",
    "kubernetesVersion": "kubernetes_version",
    "mac": "mac_addr",
    "memory": "ram",
    "name": "cluster_name",
    "node_cidr": "network.node_cidr",
    "node_default_gateway": "network.gateway",
    "node_dns_servers": "network.dns_servers",
    "node_ntp_servers": "network.ntp_servers",
    "node_vlan_tag": "network.vlan",
    "nodes": "controlplane and workers",
    "schematic_id": "schematic",
    "talosVersion": "talos_version",
    "vlan_tag": "vlan",
    "vm_id": "vmid",
}
_LONGEST = 400
_WANTED = {
    "bool": "true or false",
    "dict": "a mapping",
    "int": "a whole number",
    "list": "a list",
    "model": "a mapping",
    "string": "text",
}


def explain(invalid: ValidationError, merged: Merged) -> Iterator[tuple[Path, Problem]]:
    """Each problem with the path it is about, as that path stands in the files."""
    seen: set[tuple[Path, str]] = set()
    for error in invalid.errors(include_url=False):
        path = path_in_files(error["loc"], merged.data)
        unknown = error["type"] == "extra_forbidden"
        if unknown:
            path = (*path, str(error["loc"][-1])) if not path or path[-1] != error["loc"][-1] else path
        what, why, fix = (_cut(part) for part in _words(error, path))
        if (path, what) in seen:
            continue
        seen.add((path, what))
        yield path, merged.problem("error", path, what, why, fix, of_key=unknown)


def _cut(text: str) -> str:
    """Values are quoted, and may be as long as a file."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"


def path_in_files(loc: tuple[int | str, ...], data: Any) -> Path:
    """Pydantic's path also names steps that only the checked form has; those are left out."""
    path: list[int | str] = []
    for step in loc:
        if has(data, step):
            data = data[step]
            path.append(step)
    return tuple(path)


def _words(error: ErrorDetails, path: Path) -> tuple[str, str, str]:
    kind, context = error["type"], error.get("ctx", {})
    name = _dotted(path)
    if kind == "talosmith":
        return f"{name}: {context['what']}" if name else str(context["what"]), context["why"], context["fix"]
    if kind == "missing":
        missing = str(error["loc"][-1])
        return f"`{_dotted((*path, missing))}` is missing", "", _example(missing)
    if kind == "extra_forbidden":
        return _unknown(path)
    if kind.endswith("_type") and kind.removesuffix("_type") in _WANTED:
        wanted = _WANTED[kind.removesuffix("_type")]
        fix = ""
        if wanted == "true or false" and str(error["input"]).lower() in ("yes", "no", "on", "off"):
            fix = "write true or false"
        elif wanted == "text" and isinstance(error["input"], int | float):
            fix = "put it in quotes"
        return f"{name}: expected {wanted}", "", fix
    if kind in ("greater_than_equal", "less_than_equal"):
        bound = context.get("ge", context.get("le"))
        side = "at least" if kind == "greater_than_equal" else "at most"
        return f"{name}: `{error['input']}` is out of range", "", f"{side} {bound}"
    if kind == "literal_error":
        close = get_close_matches(str(error["input"]), _choices(context), n=1)
        fix = f"did you mean `{close[0]}`?" if close else ""
        return f"{name}: `{error['input']}` is not one of {context['expected']}", "", fix
    if kind == "string_pattern_mismatch":
        return (
            f"{name}: `{str(error['input'])[:80]}` has an invalid format",
            "",
            f"it must match {context['pattern']}",
        )
    return f"{name}: {error['msg'][0].lower()}{error['msg'][1:]}", "", ""


def _choices(context: dict[str, Any]) -> list[str]:
    return [part.strip(" '") for part in str(context["expected"]).replace(" or ", ",").split(",")]


def _unknown(path: Path) -> tuple[str, str, str]:
    *above, key = path
    key = str(key)
    known = sorted(keys_at(tuple(above)))
    close = get_close_matches(key, known, n=1, cutoff=0.6)
    elsewhere = _ELSEWHERE.get(key)
    fix = ""
    if close:
        fix = f"did you mean `{close[0]}`?"
    elif elsewhere and not (elsewhere == "cluster_name" and above):
        fix = f"did you mean `{elsewhere}`?"
    elif places_of(key):
        fix = f"did you mean `{places_of(key)[0]}`?"
    elif known:
        fix = f"known here: {', '.join(known)}"
    return f"unknown key `{_dotted(path)}`", "", fix


def _dotted(path: Path) -> str:
    text = ""
    for step in path:
        text += f"[{step + 1}]" if isinstance(step, int) else f".{step}"
    return text.lstrip(".")


def _example(key: str) -> str:
    from talosmith.model.versions import RECOMMENDED

    examples = {
        "talos_version": f"for example talos_version: {RECOMMENDED.latest}",
        "kubernetes_version": f"for example kubernetes_version: {RECOMMENDED.kubernetes}",
        "cluster_name": "for example cluster_name: dev",
        "name": "every node of a list needs a name",
    }
    return examples.get(key, f"add `{key}`")
