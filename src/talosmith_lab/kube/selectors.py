"""Selectors of labels and fields: read as the API server reads them, and asked of objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from talosmith_lab.kube import names
from talosmith_lab.kube.errors import bad_request
from talosmith_lab.kube.kinds import Kind, Obj

Matches = Callable[[Obj], bool]

_TOKENS = re.compile(r"\s*(!=|==|[=!,()<>]|[^\s=!,()<>]+)\s*")
_SIGNS = ("", "=", "!", ",", "(", ")", "<", ">", "==", "!=")
_ALWAYS = ("metadata.name", "metadata.namespace")
_EVENTS = tuple(
    f"involvedObject.{one}"
    for one in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
)
# What fields the kinds are asked for beyond their names.
_FIELDS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("", "Pod"): (
        "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
        "status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
    ),
    ("", "Node"): ("spec.unschedulable",),
    ("", "Secret"): ("type",),
    ("", "Namespace"): ("status.phase",),
    ("", "Service"): ("spec.clusterIP", "spec.type"),
    ("", "Event"): (*_EVENTS, "reason", "reportingComponent", "source", "type"),
    ("apps", "ReplicaSet"): ("status.replicas",),
    ("batch", "Job"): ("status.successful",),
    ("certificates.k8s.io", "CertificateSigningRequest"): ("spec.signerName",),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Requirement:
    key: str
    operator: str  # in, notin, exists, !, >, <
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        if self.operator == "exists":
            return self.key in labels
        if self.operator == "!":
            return self.key not in labels
        if self.operator in (">", "<"):
            return self._compares(labels.get(self.key, ""))
        inside = labels.get(self.key) in self.values if self.key in labels else False
        return inside if self.operator == "in" else not inside

    def _compares(self, label: str) -> bool:
        try:
            mine, theirs = int(label), int(self.values[0])
        except ValueError:
            return False
        return mine > theirs if self.operator == ">" else mine < theirs


@lru_cache(maxsize=1024)
def label_requirements(text: str) -> tuple[Requirement, ...]:
    tokens = _Tokens(_TOKENS.findall(text))
    found = []
    while tokens.peek():
        if tokens.peek() in _SIGNS and tokens.peek() != "!":
            raise bad_request(f"found '{tokens.peek()}', expected: !, identifier, or 'end of string'")
        found.append(_requirement(tokens))
        if tokens.peek() == ",":
            tokens.take()
        elif tokens.peek():
            raise _unparsable(f"found '{tokens.peek()}', expected: ',' or 'end of string'")
    return tuple(found)


class _Tokens:
    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens[::-1]

    def peek(self) -> str:
        return self._tokens[-1] if self._tokens else ""

    def take(self) -> str:
        return self._tokens.pop() if self._tokens else ""


def _requirement(tokens: _Tokens) -> Requirement:
    if tokens.peek() == "!":
        tokens.take()
        return Requirement(_identifier(tokens), "!")
    key = _identifier(tokens)
    operator = tokens.peek()
    if operator in ("", ","):
        return Requirement(key, "exists")
    tokens.take()
    if operator in ("=", "=="):
        return Requirement(key, "in", (_value(key, tokens),))
    if operator == "!=":
        return Requirement(key, "notin", (_value(key, tokens),))
    if operator in ("in", "notin"):
        return Requirement(key, operator, _values(key, tokens))
    if operator in (">", "<"):
        return Requirement(key, operator, (_value(key, tokens),))
    raise _unparsable(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")


def _identifier(tokens: _Tokens) -> str:
    word = tokens.take()
    if word in _SIGNS:
        raise _unparsable(f"found '{word}', expected: identifier")
    return word


def _value(key: str, tokens: _Tokens) -> str:
    if tokens.peek() in ("", ","):
        return ""
    value = _identifier(tokens)
    _check_values(key, [value])
    return value


def _check_values(key: str, values: list[str]) -> None:
    for place, value in enumerate(values):
        for problem in names.label_value(f"values[{place}][{key}]", value):
            raise _unparsable(f"{problem['field']}: {problem['message']}")


def _values(key: str, tokens: _Tokens) -> tuple[str, ...]:
    if tokens.take() != "(":
        raise _unparsable(f"found '{tokens.peek() or tokens.take()}' expected: '('")
    found = []
    while tokens.peek() not in ("", ")"):
        if tokens.peek() == ",":
            tokens.take()
        else:
            found.append(tokens.take())
    if tokens.take() != ")":
        raise _unparsable("found '', expected: ',' or ')'")
    _check_values(key, found)
    return tuple(found)


def _unparsable(why: str) -> Exception:
    return bad_request(f"unable to parse requirement: {why}")


def by_labels(text: str) -> Matches | None:
    """None: everything."""
    requirements = label_requirements(text)
    if not requirements:
        return None

    def matches(obj: Obj) -> bool:
        labels = obj["metadata"].get("labels") or {}
        return all(one.holds(labels) for one in requirements)

    return matches


def selects(selector: Obj | None, labels: Mapping[str, str]) -> bool:
    """Whether a selector as objects hold them (`matchLabels`, `matchExpressions`) has these labels; empty: all."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    operators = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
    return all(
        Requirement(one["key"], operators[one["operator"]], tuple(one.get("values") or ())).holds(labels)
        for one in selector.get("matchExpressions") or ()
    )


def by_fields(kind: Kind, text: str) -> Matches | None:
    """None: everything."""
    terms = []
    for term in filter(None, text.split(",")):
        found = re.match(r"\s*([^=!]+?)\s*(==|!=|=)\s*(.*?)\s*$", term)
        if found is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
        key, operator, value = found.groups()
        _check_field(kind, key)
        terms.append((tuple(key.split(".")), operator == "!=", value))
    if not terms:
        return None
    return lambda obj: all((_field(obj, path) == value) is not negated for path, negated, value in terms)


def _check_field(kind: Kind, key: str) -> None:
    if key not in (*_ALWAYS, *_FIELDS.get((kind.group, kind.kind), ())):
        raise bad_request(f"field label not supported: {key}")


def _field(obj: Obj, path: tuple[str, ...]) -> str:
    found: object = obj
    for part in path:
        found = found.get(part) if isinstance(found, dict) else None
    if path == ("source",) and isinstance(found, dict):
        return str(found.get("component", ""))
    if path == ("spec", "unschedulable") or path == ("spec", "hostNetwork"):
        return "true" if found else "false"
    if path == ("status", "podIPs") and isinstance(found, list):
        return ",".join(str(one.get("ip")) for one in found)
    if isinstance(found, bool):
        return "true" if found else "false"
    if found is None:
        return "0" if path in (("status", "replicas"), ("status", "successful")) else ""
    return str(found)
