"""Small helpers for libvirt's XML. It is always built and read as a tree, never as text."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

UNITS = {
    "b": 1, "bytes": 1, "kb": 10**3, "k": 2**10, "kib": 2**10, "mb": 10**6, "m": 2**20, "mib": 2**20,
    "gb": 10**9, "g": 2**30, "gib": 2**30, "t": 2**40, "tib": 2**40,
}  # fmt: skip


def child(parent: Element, tag: str, text: object = None, **attributes: object) -> Element:
    """A new element; attributes that are None are left out."""
    made = SubElement(parent, tag, {name: str(value) for name, value in attributes.items() if value is not None})
    if text is not None:
        made.text = str(text)
    return made


def root(tag: str, **attributes: object) -> Element:
    return Element(tag, {name: str(value) for name, value in attributes.items() if value is not None})


def text_of(tree: Element) -> str:
    return ElementTree.tostring(tree, encoding="unicode")


def parse(text: str) -> Element:
    return ElementTree.fromstring(text)  # noqa: S314 - libvirt serialises it itself: no entities come through


def attribute(tree: Element, path: str, name: str) -> str:
    """Of the first element at the path; empty if there is none."""
    at = tree.find(path)
    return "" if at is None else at.get(name, "")


def size(tree: Element, path: str, default_unit: str = "bytes") -> int:
    """In bytes."""
    at: Any = tree.find(path)
    if at is None or not at.text:
        return 0
    return int(at.text) * UNITS[at.get("unit", default_unit).lower()]
