"""Which container images objects need: what an air-gapped site has to have in its registry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_REFERENCE = re.compile(
    r"(?:[a-z0-9][a-z0-9.-]*(?::[0-9]+)?/)?[a-z0-9][a-z0-9._-]*(?:/[a-z0-9][a-z0-9._-]*)*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?"
)
_FLAG = re.compile(r"--[a-z0-9-]*image=(\S+)")
_LINE = re.compile(r"""^[\s-]*image:\s*["']?([^\s"'#]+)["']?\s*$""", re.MULTILINE)
_SKIPPED = {"CustomResourceDefinition", "Secret"}


def images_of(objects: Iterable[Mapping[str, Any]]) -> list[str]:
    """Image references, sorted, each once: of pod specs wherever they are, and where others name images."""
    found: set[str] = set()
    for one in objects:
        if one.get("kind") not in _SKIPPED:
            found.update(_inside(one, is_config=one.get("kind") == "ConfigMap"))
    return sorted(found)


def _inside(value: Any, *, is_config: bool) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key in _CONTAINERS and isinstance(item, list):
                for container in item:
                    yield from _of_container(container)
            elif key == "image":
                yield from _of_field(item)
            elif is_config and isinstance(item, str):
                yield from (image for image in _LINE.findall(item) if _is_full(image))
            else:
                yield from _inside(item, is_config=is_config)
    elif isinstance(value, list):
        for item in value:
            yield from _inside(item, is_config=is_config)


def _of_container(container: Any) -> Iterator[str]:
    """Its image, and those that its arguments and environment name for other pods."""
    if not isinstance(container, Mapping):
        return
    image = container.get("image")
    if isinstance(image, str) and image:
        yield image
    for part in (*(container.get("command") or ()), *(container.get("args") or ())):
        match = _FLAG.fullmatch(part) if isinstance(part, str) else None
        if match and _is_full(match[1]):
            yield match[1]
    for variable in container.get("env") or ():
        if isinstance(variable, Mapping) and str(variable.get("name") or "").endswith("IMAGE"):
            text = variable.get("value")
            if isinstance(text, str) and _is_full(text):
                yield text


def _of_field(image: Any) -> Iterator[str]:
    """`image` of a custom object, or of a volume: text, or a table with a repository and a tag."""
    if isinstance(image, str) and _is_full(image):
        yield image
    elif isinstance(image, Mapping):
        name = image.get("repository") or image.get("reference")
        if not isinstance(name, str) or not name:
            return
        text = f"{image['registry']}/{name}" if isinstance(image.get("registry"), str) else name
        tag, digest = image.get("tag"), image.get("digest")
        text += f":{tag}" if tag else ""
        text += f"@{digest}" if digest else ""
        if _is_full(text):
            yield text


def _is_full(text: str) -> bool:
    """A reference with a path and a tag or digest: a single word may be anything."""
    last = text.rpartition("/")[2]
    return "/" in text and (":" in last or "@" in last) and _REFERENCE.fullmatch(text) is not None
