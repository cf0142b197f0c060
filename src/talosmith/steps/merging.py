"""Merges this cluster's contexts into the user's own talosconfig and kubeconfig. Other entries stay unchanged.

An entry of the same name that belongs to another cluster keeps its name; ours gets a number as suffix.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml

from talosmith.desired.bundle import Bundle
from talosmith.desired.pki import to_base64
from talosmith.desired.talosconfig import Talosconfig
from talosmith.errors import Permanent
from talosmith.files.secret import make_private_folder, write_secret
from talosmith.model.secret import Secret
from talosmith.yaml.limits import check_limits

Data = dict[str, Any]
T = TypeVar("T")


def users_talosconfig() -> Path:
    return Path(os.environ.get("TALOSCONFIG") or Path.home() / ".talos" / "config")


def users_kubeconfig() -> Path:
    """As kubectl does: the first file of $KUBECONFIG, else ~/.kube/config."""
    listed = os.environ.get("KUBECONFIG", "").split(os.pathsep)
    return Path(next(filter(None, listed), "") or Path.home() / ".kube" / "config")


def merge_talosconfig(ours: Path | Secret, into: Path) -> str:
    """Merge a file, or its text, into the file `into`; the name of its context there."""
    return _merge(ours, into, _with_talos_context)


def merge_kubeconfig(ours: Path | Secret, into: Path) -> str:
    return _merge(ours, into, _with_kube_context)


def contexts_of(bundle: Bundle) -> list[tuple[str, str]]:
    """This cluster's contexts in the user's own files, by their CA: the file, and the command that deletes it."""
    talos_ca, kube_ca = (to_base64(one.certificate) for one in (bundle.os, bundle.k8s))
    talos, kube = users_talosconfig(), users_kubeconfig()
    talos_contexts: Data = _tried(talos, "contexts", {})
    talos_names = [str(name) for name in talos_contexts if _named(talos_contexts, name).get("ca") == talos_ca]
    entries: list[Data] = _tried(kube, "clusters", [])
    clusters = {
        str(one.get("name")) for one in entries if _named(one, "cluster").get("certificate-authority-data") == kube_ca
    }
    contexts: list[Data] = _tried(kube, "contexts", [])
    kube_names = [str(one.get("name")) for one in contexts if str(_named(one, "context").get("cluster")) in clusters]
    return [
        *((str(talos), shlex.join(["talosctl", "config", "remove", name, "--noconfirm"])) for name in talos_names),
        *((str(kube), shlex.join(["kubectl", "config", "delete-context", name])) for name in kube_names),
    ]


def _tried(path: Path, section: str, otherwise: T) -> T:
    """A section of a file, or `otherwise` if the file cannot be read or the section has another type."""
    try:
        found = _read(path).get(section) if path.exists() else None
    except Permanent:
        return otherwise
    if isinstance(found, list):  # entries that are no mappings are none of ours
        found = [one for one in found if isinstance(one, Mapping)]
    return found if isinstance(found, type(otherwise)) else otherwise


def _named(entry: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    found = entry.get(field)
    return found if isinstance(found, Mapping) else {}


def _merge(ours: Path | Secret, into: Path, add: Callable[[Data, Data], str]) -> str:
    whole = _read(into) if into.exists() else {}
    name = add(whole, _read(ours) if isinstance(ours, Path) else yaml.safe_load(ours.reveal()))
    make_private_folder(into.parent)
    write_secret(into, yaml.safe_dump(whole, sort_keys=False).encode())
    return name


def _with_talos_context(whole: Data, ours: Data) -> str:
    merged, _ = Talosconfig.from_mapping(whole).merged_with(Talosconfig.from_mapping(ours), renew=True)
    whole.update(merged.to_mapping())
    return merged.current


def _with_kube_context(whole: Data, ours: Data) -> str:
    """Entries of the three lists refer to each other by name; the CA shows which cluster an entry is of."""
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
        raise Permanent(
            f"{path} cannot be read, so nothing was merged into it",
            hint=f"repair it, or move it: mv {path} {path}.old",
        )
    return data
