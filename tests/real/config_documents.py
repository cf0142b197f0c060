"""Random machine configs and patches for them, drawn from the schema that the product reads them by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from talosmith.desired.config.check.findings import NEWEST
from talosmith.desired.config.schema import since
from talosmith.desired.config.schema.documents import KINDS, MAIN
from talosmith.desired.config.schema.notation import Arguments, ListOf, MapOf, Struct, Type
from talosmith.desired.config.schema.scalars import ENUMS, Scalar
from talosmith.desired.config.schema.since import Line

# Since 1.14 a patch replaces these domains, and an empty list says something.
SINCE = since.FIELDS | {"ResolverConfig.searchDomains.domains": (1, 14)}
NAMES = ("a", "b", "n9", "n10")
MARK = {"$patch": "delete"}
SAMPLES: dict[str, tuple[Any, ...]] = {
    "s": ("a", "b", "", "yes", "5", 5, True, 1.5, None, "x: y", "two\nlines\n", "/dev/sda", "é", "10.0.0.0/8"),
    "manifest": ("\n\na: b\n", "x"),
    "b": (True, False, "yes", "off", None),
    "bool": (True, False),
    "int": (0, 5, -3, 100.0),
    "uint": (0, 7),
    "i32": (0, -5, 7),
    "u8": (0, 9),
    "u16": (0, 1, 2),
    "u32": (0, 1500, 9000),
    "mode": (0, 0o644, 0o600),
    "duration": ("30s", "1h30m", "1.5s", "0s", 0, "-3s"),
    "url": ("https://a:6443", "https://b/x", "http://c:1/p?q=1", "tcp://192.0.2.1:5", ""),
    "address": ("192.0.2.1", "::1", "2001:DB8::0:1", ""),
    "prefix": ("192.0.2.1/24", "fd00::/8", ""),
    "plain-prefix": ("192.0.2.1/24", "fd00::/8", ""),
    "address-port": ("192.0.2.1:80", "[::1]:99", ""),
    "mac": ("02:00:5e:10:00:01", "AABB", ""),
    "cel": ("disk.size > 1u", "true", ""),
    "size": ("10GB", "1.5 GiB", "100", ""),
    "size-or-share": ("10GB", "80%", ""),
    "disk-size": ("100MB", "1.5GB", 1234567, 0, "1 GiB"),
    "size-condition": (">= 10GB", "4TB"),
    "base64": ("YQ==", "", "YWJj"),
    "key": ("YQ==", "", "******"),
    "ports": (80, "100-200", "5-5"),
    "protocol": ("tcp", "udp", "ICMP"),
    **{name: values[:5] for name, values in ENUMS.items()},
}
_FREE = st.recursive(
    st.sampled_from(("a", "", 1, 0, 1.5, True, False, "yes")),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=2),
    max_leaves=4,
)


def _value(of: Type, place: str, talos: Line) -> st.SearchStrategy[Any]:
    if isinstance(of, Scalar):
        return st.sampled_from(SAMPLES[of.name])
    if isinstance(of, Struct):
        return _struct(of, place, talos)
    if isinstance(of, ListOf):
        return st.lists(_value(of.item, place, talos), max_size=2)
    if isinstance(of, MapOf):
        return st.dictionaries(st.sampled_from(NAMES), _value(of.value, place, talos), max_size=2)
    if isinstance(of, Arguments):
        return st.dictionaries(st.sampled_from(NAMES), st.sampled_from(("x", "", 5, [], ["p", "q"])), max_size=2)
    return st.dictionaries(st.sampled_from(NAMES), _FREE, max_size=3)


@st.composite
def _struct(draw: st.DrawFn, struct: Struct, place: str, talos: Line, most: int = 4) -> dict[str, Any]:
    keys = [
        key
        for key in struct.fields
        if key not in ("apiVersion", "kind", "name", "machine", "cluster")
        and SINCE.get(f"{place}.{key}", talos) <= talos
    ]
    chosen = draw(st.lists(st.sampled_from(keys), max_size=most, unique=True)) if keys else []
    return {key: draw(_value(struct.fields[key].type, f"{place}.{key}", talos)) for key in chosen}


@st.composite
def _document(draw: st.DrawFn, kind: str, talos: Line) -> dict[str, Any]:
    if not kind:
        sections = {
            key: draw(_struct(MAIN.fields[key].type, f"v1alpha1.{key}", talos, most=8))  # type: ignore[arg-type]
            for key in ("machine", "cluster")
        }
        return {"version": "v1alpha1", **draw(_struct(MAIN, "v1alpha1", talos)), **sections}
    return {**_head(kind), **draw(_struct(KINDS[kind], kind, talos, most=8))}


def _head(kind: str) -> dict[str, Any]:
    name = {"name": kind.lower()} if "name" in KINDS[kind].fields else {}  # so that no kinds exclude each other
    return {"apiVersion": "v1alpha1", "kind": kind, **name}


@st.composite
def _marked(draw: st.DrawFn, value: Any, depth: int = 0) -> Any:
    """The value with delete marks here and there."""
    if isinstance(value, Mapping):
        marked: dict[str, Any] = {}
        for key, inner in value.items():
            head = depth == 0 and key in ("apiVersion", "kind", "name", "version")
            hit = not head and draw(st.integers(0, 24)) == 0
            marked[key] = MARK if hit else inner if head else draw(_marked(inner, depth + 1))
        return marked
    if isinstance(value, list):
        return [
            {**one, **MARK} if isinstance(one, dict) and one and draw(st.integers(0, 5)) == 0 else one
            for one in value
        ]
    return value


@st.composite
def patched_configs(draw: st.DrawFn, talos: Line = NEWEST) -> tuple[str, str]:
    """A config of a few documents that a Talos knows and a patch for some of them, as JSON, which is YAML too.

    A patch may speak of a document twice, and delete documents that exist or not.
    """
    known = sorted(kind for kind in KINDS if since.KINDS.get(kind, talos) <= talos)
    kinds = ["", *draw(st.lists(st.sampled_from(known), max_size=4, unique=True))]
    patched = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=4))
    deleted = draw(st.lists(st.sampled_from([*kinds[1:], *known[:1]]), max_size=1)) if draw(st.booleans()) else []
    config = [draw(_document(kind, talos)) for kind in kinds]
    patch = [draw(_marked(draw(_document(kind, talos)))) for kind in patched]
    patch += [{**_head(kind), **MARK} for kind in deleted]
    return _text(config), _text(draw(st.permutations(patch)))


def _text(documents: list[dict[str, Any]]) -> str:
    return "\n---\n".join(json.dumps(document, ensure_ascii=False) for document in documents) + "\n"
