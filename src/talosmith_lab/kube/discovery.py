"""What an API server says that it has: groups, versions and kinds, one by one or all at once."""

from __future__ import annotations

from collections.abc import Iterable

from talosmith_lab.kube.kinds import Kind, Kinds, Obj, Subkind

AGGREGATED = "APIGroupDiscoveryList"


def groups_of(kinds: Kinds) -> dict[str, dict[str, list[Kind]]]:
    """By group and version, both in the order of their worth; custom groups last, by name."""
    found: dict[str, dict[str, list[Kind]]] = {}
    custom: dict[str, dict[str, list[Kind]]] = {}
    for kind in kinds:
        place = found if kind.group in found or not kind.custom else custom
        place.setdefault(kind.group, {}).setdefault(kind.version, []).append(kind)
    return {**found, **dict(sorted(custom.items()))}


def versions(address: str) -> Obj:
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}


def group_list(kinds: Kinds) -> Obj:
    groups = [_group(name, list(found)) for name, found in groups_of(kinds).items() if name]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(kinds: Kinds, name: str) -> Obj | None:
    found = groups_of(kinds).get(name)
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, list(found))} if found else None


def _group(name: str, known: list[str]) -> Obj:
    entries = [{"groupVersion": f"{name}/{version}", "version": version} for version in known]
    return {"name": name, "versions": entries, "preferredVersion": entries[0]}


def resource_list(kinds: Kinds, group: str, version: str) -> Obj | None:
    found = groups_of(kinds).get(group, {}).get(version)
    if found is None:
        return None
    full = f"{group}/{version}" if group else version
    resources = [entry for kind in sorted(found, key=lambda one: one.plural) for entry in _resources(kind)]
    head: Obj = {"kind": "APIResourceList"}
    if group:
        head["apiVersion"] = "v1"
    return {**head, "groupVersion": full, "resources": resources}


def _resources(kind: Kind) -> Iterable[Obj]:
    entry: Obj = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    yield entry
    for part in kind.subresources.values() if kind.custom else _by_name(kind):
        yield _part(kind, part)


def _by_name(kind: Kind) -> list[Subkind]:
    return sorted(kind.subresources.values(), key=lambda one: one.name)


def _part(kind: Kind, part: Subkind) -> Obj:
    entry: Obj = {"name": f"{kind.plural}/{part.name}", "singularName": "", "namespaced": kind.namespaced}
    if (part.group, part.version) != (kind.group, kind.version):
        entry |= {"group": part.group, "version": part.version}
    return {**entry, "kind": part.kind, "verbs": list(part.verbs)}


def aggregated(kinds: Kinds, *, core: bool, version: str = "v2") -> Obj:
    """Everything in one answer."""
    chosen = {name: found for name, found in groups_of(kinds).items() if (name == "") is core}
    items = [_aggregated_group(name, found) for name, found in chosen.items()]
    return {"kind": AGGREGATED, "apiVersion": f"apidiscovery.k8s.io/{version}", "metadata": {}, "items": items}


def _aggregated_group(name: str, found: dict[str, list[Kind]]) -> Obj:
    entries = [
        {"version": version, "resources": [_aggregated_kind(one) for one in kinds], "freshness": "Current"}
        for version, kinds in found.items()
    ]
    return {"metadata": {"name": name} if name else {}, "versions": entries}


def _aggregated_kind(kind: Kind) -> Obj:
    entry: Obj = {
        "resource": kind.plural,
        "responseKind": _response(kind, kind),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.verbs),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    if kind.subresources:
        entry["subresources"] = [
            {
                "subresource": part.name,
                "responseKind": _response(kind, part),
                "verbs": list(part.verbs),
            }
            for part in kind.subresources.values()
        ]
    return entry


def _response(kind: Kind, what: Kind | Subkind) -> Obj:
    """Builtin kinds leave out the group and version where these are the ones they are listed under."""
    own = not kind.custom and (what.group, what.version) == (kind.group, kind.version)
    return {"group": "" if own else what.group, "version": "" if own else what.version, "kind": what.kind}
