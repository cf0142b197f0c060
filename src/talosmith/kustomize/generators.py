"""ConfigMaps and Secrets from literals and files, and the hash of their content that becomes part of their names."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from talosmith.kustomize.errors import ManifestError
from talosmith.kustomize.kustomization import Kustomization
from talosmith.kustomize.resources import Resource, Resources, as_map
from talosmith.kustomize.sources import Sources

_GO_ESCAPES = str.maketrans({c: f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"})
_NO_VOWELS = str.maketrans("013ae", "ghkmt")  # a suffix must not spell a word


def generate(kustomization: Kustomization, sources: Sources, resources: Resources) -> None:
    """Add the generated objects, or let them replace or extend others."""
    for field, kind in (("configMapGenerator", "ConfigMap"), ("secretGenerator", "Secret")):
        for settings in kustomization.many(field):
            options = _options(settings.get("options") or {}, kustomization.map("generatorOptions"))
            content = _object(kind, settings, options, kustomization, sources)
            one = Resource(content, needs_hash=not options.get("disableNameSuffixHash"))
            _absorb(one, settings.get("behavior") or "create", resources)


def add_hashes(resources: Resources) -> None:
    for one in resources:
        if one.needs_hash:
            one.remember()
            one.metadata["name"] = f"{one.name}-{content_hash(one.content)}"


def content_hash(content: Mapping[str, Any]) -> str:
    """Of kind and data, as kustomize computes it: a name is part of what is hashed, and always empty."""
    secret = content["kind"] == "Secret"
    wanted = ("data", "stringData") if secret else ("data", "binaryData")
    hashed: dict[str, Any] = {"kind": content["kind"], "name": ""}
    hashed |= {key: content[key] for key in wanted if isinstance(content.get(key), dict)}
    hashed.setdefault("data", "")
    if secret:
        hashed["type"] = content.get("type") or ""
    text = json.dumps(hashed, sort_keys=True, separators=(",", ":"), ensure_ascii=False).translate(_GO_ESCAPES)
    return hashlib.sha256(text.encode()).hexdigest()[:10].translate(_NO_VOWELS)


def _options(own: Mapping[str, Any], general: Mapping[str, Any]) -> dict[str, Any]:
    merged = {key: {**(general.get(key) or {}), **(own.get(key) or {})} for key in ("labels", "annotations")}
    flags = {key: bool(own.get(key) or general.get(key)) for key in ("disableNameSuffixHash", "immutable")}
    return {**merged, **flags}


def _object(
    kind: str, settings: Mapping[str, Any], options: Mapping[str, Any], kustomization: Kustomization, sources: Sources
) -> dict[str, Any]:
    if not settings.get("name"):
        raise ManifestError(f"a generator of a {kind} has no name", file=kustomization.file)
    metadata = {key: settings[key] for key in ("name", "namespace") if settings.get(key)}
    metadata |= {key: options[key] for key in ("labels", "annotations") if options[key]}
    content: dict[str, Any] = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
    if kind == "Secret":
        content |= {"type": settings.get("type") or "Opaque", "data": {}}
    seen: set[str] = set()
    for key, value in _pairs(settings, kustomization, sources):
        if key in seen:
            raise ManifestError(f"{kind} {settings['name']} has the key {key} twice", file=kustomization.file)
        seen.add(key)
        field, text = _encoded(kind, value)
        content.setdefault(field, {})[key] = text
    if options["immutable"]:
        content["immutable"] = True
    return content


def _encoded(kind: str, value: bytes) -> tuple[str, str]:
    if kind == "Secret":
        return "data", base64.b64encode(value).decode()
    try:
        return "data", value.decode()
    except UnicodeDecodeError:
        return "binaryData", base64.b64encode(value).decode()


def _pairs(
    settings: Mapping[str, Any], kustomization: Kustomization, sources: Sources
) -> Iterator[tuple[str, bytes]]:
    def read(name: str) -> bytes:
        path = Path(kustomization.folder, name)
        return sources.read(path, named_in=kustomization.file, below=kustomization.folder)

    for name in (*(settings.get("envs") or ()), *filter(None, [settings.get("env")])):
        for line in read(name).removeprefix(b"\xef\xbb\xbf").decode(errors="replace").split("\n"):
            text = line.removesuffix("\r").lstrip()
            if text and not text.startswith("#"):
                key, _, value = text.partition("=")
                yield key, value.encode()
    for literal in settings.get("literals") or ():
        key, equals, value = literal.partition("=")
        if not key or not equals:
            raise ManifestError("a literal is not of the form key=value", file=kustomization.file)
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        yield key, value.encode()
    for source in settings.get("files") or ():
        key, _, name = source.rpartition("=")
        if "=" in key or not name or source.startswith("="):
            raise ManifestError(f"{source} is not of the form [key=]path", file=kustomization.file)
        yield key or Path(name).name, read(name)


def _absorb(one: Resource, behavior: str, resources: Resources) -> None:
    if behavior not in ("create", "merge", "replace"):
        raise ManifestError(f"{one.id}: unknown behavior {behavior}", hint="create, merge or replace")
    known = resources.known_as(one.id)
    if behavior == "create" and not known:
        resources.append(one)
        return
    if behavior == "create" or len(known) != 1:
        what = "already exists" if known else "does not exist"
        fix = "set `behavior: merge` or `replace`" if behavior == "create" else "`behavior: create` makes a new one"
        raise ManifestError(f"{one.id} {what}, so a generator cannot {behavior} it", hint=fix)
    old = known[0]
    if behavior == "merge":
        _merge_data(one, old)
    one.take_over(old)
    resources.replace(old, one)


def _merge_data(one: Resource, old: Resource) -> None:
    data = {**as_map(old.content.get("data"))}
    if one.kind == "Secret":
        strings = as_map(old.content.get("stringData"))
        data |= {key: base64.b64encode(str(value).encode()).decode() for key, value in strings.items()}
    for field, earlier in (("data", data), ("binaryData", as_map(old.content.get("binaryData")))):
        if merged := {**earlier, **(one.content.get(field) or {})}:
            one.content[field] = merged
