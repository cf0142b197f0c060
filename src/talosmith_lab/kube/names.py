"""How objects may be called and labelled, and by whom owned."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from talosmith_lab.kube.errors import cause, invalid_value, required
from talosmith_lab.kube.kinds import Kind, Obj

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")

LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
    "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_QUALIFIED_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_KEY_RULE = (
    _QUALIFIED_RULE.removeprefix("name part ") + " with an optional DNS subdomain prefix and '/' (e.g. "
    "'example.com/MyName')"
)
_FREE_NAMES = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "IPAddress", "APIService")
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")


def is_label(text: str) -> bool:
    return len(text) <= 63 and _LABEL.fullmatch(text) is not None


def problems(kind: Kind, obj: Obj) -> Iterator[Obj]:
    metadata = obj["metadata"]
    yield from _name(kind, metadata)
    for where in ("labels", "annotations"):
        for key, value in (metadata.get(where) or {}).items():
            yield from qualified(f"metadata.{where}", key.lower() if where == "annotations" else key, shown=key)
            if where == "labels":
                yield from label_value(f"metadata.{where}", str(value))
    yield from _owners(metadata)
    for place, finalizer in enumerate(metadata.get("finalizers") or ()):
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS and not kind.custom:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid_value(f"metadata.finalizers[{place}]", finalizer, why)


def update_problems(obj: Obj, old: Obj) -> Iterator[Obj]:
    before = old["metadata"].get("finalizers") or ()
    new = [one for one in obj["metadata"].get("finalizers") or () if one not in before]
    if old["metadata"].get("deletionTimestamp") and new:
        shown = ", ".join(f'"{one}"' for one in new)
        why = (
            f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{shown}}}"
        )
        yield cause("FieldValueForbidden", f"Forbidden: {why}", "metadata.finalizers")


def _name(kind: Kind, metadata: Obj) -> Iterator[Obj]:
    name = metadata.get("name", "")
    if not name:
        yield required("metadata.name", "name or generateName is required")
    elif kind.kind in _FREE_NAMES and not kind.custom:
        if "/" in name or "%" in name or name in (".", ".."):
            yield invalid_value(
                "metadata.name", name, "may not contain '/'" if "/" in name else "may not contain '%'"
            )
    elif kind.resource == "namespaces":
        if "." in name:
            yield invalid_value("metadata.name", name, "must not contain dots")
        elif not is_label(name):
            yield invalid_value("metadata.name", name, LABEL_RULE)
    elif len(name) > 253:
        yield cause("FieldValueTooLong", "Too long: may not be more than 253 bytes", "metadata.name")
    elif _SUBDOMAIN.fullmatch(name) is None:
        yield invalid_value("metadata.name", name, _SUBDOMAIN_RULE)


def qualified(field: str, key: str, *, shown: str = "") -> Iterator[Obj]:
    """A key of a label or the like; `shown` where the one that is looked at is not the one that was given."""
    prefix, slash, name = key.partition("/")
    if not slash:
        prefix, name = "", key
    told = shown or key
    if "/" in name:
        yield invalid_value(field, told, f"a valid label key {_KEY_RULE}")
        return
    if slash and not prefix:
        yield invalid_value(field, told, "prefix part must be non-empty")
    elif slash and _SUBDOMAIN.fullmatch(prefix) is None:
        yield invalid_value(field, told, f"prefix part {_SUBDOMAIN_RULE}")
    if not name:
        yield invalid_value(field, told, "name part must be non-empty")
    elif len(name) > 63:
        yield invalid_value(field, told, "name part must be no more than 63 bytes")
    if name == "" or _QUALIFIED.fullmatch(name) is None:
        yield invalid_value(field, told, _QUALIFIED_RULE)


def label_value(field: str, value: str) -> Iterator[Obj]:
    if len(value) > 63:
        yield invalid_value(field, value, "must be no more than 63 bytes")
    if _VALUE.fullmatch(value) is None:
        yield invalid_value(field, value, _VALUE_RULE)


def _owners(metadata: Obj) -> Iterator[Obj]:
    owners = metadata.get("ownerReferences") or ()
    for number, owner in enumerate(owners):
        for name in ("apiVersion", "kind", "name", "uid"):
            if not owner.get(name):
                yield required(f"metadata.ownerReferences[{number}].{name}", "must not be empty")
    if sum(bool(owner.get("controller")) for owner in owners) > 1:
        chiefs = [f"{owner.get('kind')}/{owner.get('name')}" for owner in owners if owner.get("controller")]
        why = (
            f'Only one reference can have Controller set to true. Found "true" in references for {chiefs[0]} and '
            f"{chiefs[1]}"
        )
        shown = json.dumps(owners, separators=(",", ":"))
        yield cause("FieldValueInvalid", f"Invalid value: {shown}: {why}", "metadata.ownerReferences")
