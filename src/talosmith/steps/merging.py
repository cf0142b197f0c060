"""The user's own talosconfig and kubeconfig get this cluster's entry. Nothing that stands there is lost or replaced.

An entry of the same name that is another cluster's keeps its name; ours gets a number behind.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from talosmith.desired.talosconfig import Talosconfig
from talosmith.errors import Permanent
from talosmith.files.secret import make_private_folder, write_secret
from talosmith.yaml.limits import check_limits

Data = dict[str, Any]


def users_talosconfig() -> Path:
    return Path(os.environ.get("TALOSCONFIG") or Path.home() / ".talos" / "config")


def users_kubeconfig() -> Path:
    """As kubectl: the first of several."""
    listed = os.environ.get("KUBECONFIG", "").split(os.pathsep)
    return Path(next(filter(None, listed), "") or Path.home() / ".kube" / "config")


def merge_talosconfig(ours: Path, into: Path) -> str:
    """The name of the context that is there now."""
    return _merge(ours, into, _with_talos_context)


def merge_kubeconfig(ours: Path, into: Path) -> str:
    return _merge(ours, into, _with_kube_context)


def _merge(ours: Path, into: Path, add: Callable[[Data, Data], str]) -> str:
    whole = _read(into) if into.exists() else {}
    name = add(whole, _read(ours))
    make_private_folder(into.parent)
    write_secret(into, yaml.safe_dump(whole, sort_keys=False).encode())
    return name


def _with_talos_context(whole: Data, ours: Data) -> str:
    merged, _ = Talosconfig.from_mapping(whole).merged_with(Talosconfig.from_mapping(ours), renew=True)
    whole.update(merged.to_mapping())
    return merged.current


def _with_kube_context(whole: Data, ours: Data) -> str:
    """All three lists share their entries by name; an authority tells whose a cluster is."""
    whole.setdefault("apiVersion", "v1")
    whole.setdefault("kind", "Config")
    context, cluster, user = (_entry(ours, section) for section in ("contexts", "clusters", "users"))
    authority = cluster["cluster"].get("certificate-authority-data")

    def is_ours(name: str) -> bool:
        there = next((one for one in whole.get("clusters") or () if one.get("name") == name), None)
        return there is None or there.get("cluster", {}).get("certificate-authority-data") == authority

    place = _free(cluster["name"], is_ours)
    suffix = place.removeprefix(cluster["name"])
    names = {"clusters": place, "users": user["name"] + suffix, "contexts": context["name"] + suffix}
    joined = {**context["context"], "cluster": names["clusters"], "user": names["users"]}
    _put(whole, "clusters", {"name": names["clusters"], "cluster": cluster["cluster"]})
    _put(whole, "users", {"name": names["users"], "user": user["user"]})
    _put(whole, "contexts", {"name": names["contexts"], "context": joined})
    whole["current-context"] = names["contexts"]
    return str(names["contexts"])


def _entry(data: Mapping[str, Any], section: str) -> Data:
    found: Data = data[section][0]
    return found


def _put(whole: Data, section: str, entry: Data) -> None:
    others = [one for one in whole.get(section) or () if one.get("name") != entry["name"]]
    whole[section] = [*others, entry]


def _free(name: str, ours: Callable[[str], bool]) -> str:
    number = 0
    while not ours(tried := f"{name}-{number}" if number else name):
        number += 1
    return tried


def _read(path: Path) -> Data:
    try:
        text = path.read_text(encoding="utf-8")
        check_limits(text)
        data = yaml.safe_load(text) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        data = None
    if not isinstance(data, dict):
        raise Permanent(f"{path} cannot be read, so nothing was put into it", hint="look at it, or move it away")
    return data
