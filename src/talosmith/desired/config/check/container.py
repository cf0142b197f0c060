"""What Talos asks of ContainerConfig: a container that Talos itself runs."""

from __future__ import annotations

import re
from typing import Any

from talosmith.desired.config.check.findings import Findings, check_kind, complaint, error, warning
from talosmith.desired.config.schema.gourl import parse_url
from talosmith.govalues import parse_size

_MOUNTS = ("userVolume", "tmpfs", "hostPath")
_MOUNT_OPTIONS = ("ro", "rw", "noexec", "nosuid", "nodev", "noatime", "rbind", "rshared")
_NETWORK_CONDITIONS = ("addresses", "connectivity", "hostname", "etcfiles")


@check_kind("ContainerConfig")
def _container(document: Any) -> Findings:
    if not re.fullmatch("[a-z0-9-]{1,63}", document.get("name") or ""):
        yield error("name", "is not 1 to 63 lower-case letters, digits and dashes")
    image = document.get("image") or ""
    wrong = [*complaint("image", _check_image, image)]
    yield from wrong
    if not wrong and "@" not in image:
        yield warning("image", "has no digest, so the image may change with a restart")
    for index, entry in enumerate(document.get("environment") or ()):
        if "=" not in entry:
            yield error(f"environment[{index}]", "is not NAME=value")
    yield from _mounts(document)
    yield from _security(document.get("security") or {})
    if ((document.get("network") or {}).get("mode") or "none") not in ("none", "host"):
        yield error("network.mode", "is neither none nor host")
    for key in ("uid", "gid"):
        if ((document.get("runAs") or {}).get(key) or 0) < 0:
            yield error(f"runAs.{key}", "is negative")
    yield from _limits((document.get("resources") or {}).get("limits") or {})
    yield from _dependencies(document)


def _check_image(text: str) -> None:
    """An image's name as container registries know it, with a tag or a digest or neither."""
    if not text:
        raise ValueError("is missing")
    name, at, digest = text.partition("@")
    if at and not re.fullmatch("sha256:[0-9a-f]{64}", digest):
        raise ValueError("has a digest that is not sha256: with 64 hexadecimal digits")
    head, colon, tag = name.rpartition(":")
    if colon and "/" not in tag:
        name = head
        if not re.fullmatch("[A-Za-z0-9_.-]{1,128}", tag):
            raise ValueError("has a tag that is not 1 to 128 letters, digits, dashes, dots and underscores")
    registry, slash, repository = name.partition("/")
    if not slash or not (registry == "localhost" or set(".:") & set(registry)):
        registry, repository = "", name
    if not re.fullmatch("[a-z0-9_./-]{2,255}", repository) or parse_url(f"//{registry}").host != registry:
        raise ValueError("is not the name of an image, like ghcr.io/example/tool:v1")


def _mounts(document: Any) -> Findings:
    seen: set[str] = set()
    for index, mount in enumerate(document.get("mounts") or ()):
        kinds = [kind for kind in _MOUNTS if mount.get(kind) is not None]
        path = f"mounts[{index}]"
        if len(kinds) != 1:
            yield error(path, f"is not one of {', '.join(_MOUNTS)}")
            continue
        (kind,) = kinds
        one = mount[kind]
        if kind == "userVolume" and not one.get("name"):
            yield error(f"{path}.{kind}.name", "is missing")
        for key in ("source", "destination") if kind == "hostPath" else ("destination",):
            if not (one.get(key) or "").startswith("/"):
                yield error(f"{path}.{kind}.{key}", "is not an absolute path")
        options = one.get("options") or ()
        if any(option not in _MOUNT_OPTIONS for option in options):
            yield error(f"{path}.{kind}.options", f"has one that is none of {', '.join(_MOUNT_OPTIONS)}")
        if {"ro", "rw"} <= set(options):
            yield error(f"{path}.{kind}.options", "has both ro and rw")
        if one.get("destination") in seen:
            yield error(f"{path}.{kind}.destination", "is there twice")
        seen.add(one.get("destination") or "")


def _security(security: Any) -> Findings:
    if (security.get("profile") or "restricted") not in ("restricted", "privileged"):
        yield error("security.profile", "is neither restricted nor privileged")
    capabilities = security.get("capabilities") or {}
    add, drop = capabilities.get("add") or (), capabilities.get("drop") or ()
    for key, names in (("add", add), ("drop", [name for name in drop if name != "ALL"])):
        for name in names:
            if not re.fullmatch("[A-Z_]+", name) or name.startswith("CAP_") or name == "ALL":
                yield error(f"security.capabilities.{key}", "has a name that is not like NET_ADMIN")
    if set(add) & set(drop):
        yield error("security.capabilities", "adds and drops the same capability")


def _limits(limits: Any) -> Findings:
    if limits.get("memory"):
        yield from complaint("resources.limits.memory", parse_size, limits["memory"])
    cpu = limits.get("cpu")
    if cpu and not (re.fullmatch("[0-9]{1,20}m", cpu) and 0 < int(cpu[:-1]) < 1 << 64):
        yield error("resources.limits.cpu", "is not a number of millicores like 1500m")


def _dependencies(document: Any) -> Findings:
    needs = document.get("dependsOn") or {}
    if any(not path.startswith("/") for path in needs.get("paths") or ()):
        yield error("dependsOn.paths", "has one that is not an absolute path")
    if any(name not in _NETWORK_CONDITIONS for name in needs.get("networks") or ()):
        yield error("dependsOn.networks", f"has one that is none of {', '.join(_NETWORK_CONDITIONS)}")
    if any(not name for name in needs.get("containers") or ()):
        yield error("dependsOn.containers", "has an empty name")
