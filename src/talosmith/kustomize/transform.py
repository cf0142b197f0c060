"""What a kustomization does to all objects: namespace, names, labels, annotations, replicas and images."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from talosmith.kustomize import fields
from talosmith.kustomize.errors import ManifestError
from talosmith.kustomize.fields import FieldSpec, change, change_all
from talosmith.kustomize.resources import Resource, Resources, as_map

_KEEP_NAMES = (("", "CustomResourceDefinition"), ("apiregistration.k8s.io", "APIService"), ("", "Namespace"))
_TAG_AND_DIGEST = r"(:[a-zA-Z0-9_.{}-]*)?(@[a-zA-Z0-9]+([.+_-][a-zA-Z0-9]+)*:[a-zA-Z0-9_.{}-]*)?\Z"


def set_namespace(resources: Resources, namespace: str) -> None:
    for one in resources:
        one.remember()
        if not one.is_cluster_scoped:
            one.metadata["namespace"] = namespace
        if one.kind == "Namespace" and one.content.get("apiVersion") == "v1":
            one.metadata["name"] = namespace
        if one.kind in ("RoleBinding", "ClusterRoleBinding"):
            for subject in one.subjects:
                if subject.get("name") == "default":
                    subject["namespace"] = namespace
        change_all(one, fields.NAMESPACES, lambda _: namespace, new=lambda _: namespace)
    resources.check_ids()


def add_to_names(resources: Resources, prefix: str, suffix: str) -> None:
    for one in resources:
        if any(one.original.has_type(group, kind=kind) for group, kind in _KEEP_NAMES):
            continue
        for before, after, record in ((prefix, "", one.prefixes), ("", suffix, one.suffixes)):
            if before or after:
                record.append(before or after)
                one.remember()
                one.metadata["name"] = before + one.name + after


def set_entries(resources: Resources, entries: Mapping[str, str], specs: Iterable[FieldSpec]) -> None:
    """Labels or annotations."""

    def with_entries(value: Any) -> Any:
        if value is not None and not isinstance(value, dict):
            raise TypeError("expected a map")
        return {**(value or {}), **entries}

    if entries:
        specs = tuple(dict.fromkeys(specs))
        for one in resources:
            change_all(one, specs, with_entries, new=lambda _: {})


def set_replicas(resources: Resources, name: str, count: int) -> None:
    found = False
    for one in resources:
        kinds = {known.kind for known in (one.id, *one.previous) if known.name == name}
        for spec in fields.REPLICAS:
            if spec.kind in kinds:
                found = True
                change(one, spec, lambda _: count, new=lambda _: count)
    if not found:
        raise ManifestError(f"replicas: no Deployment, StatefulSet or ReplicaSet is named {name}")


def set_image(resources: Resources, image: Mapping[str, str]) -> None:
    def renamed(value: Any) -> Any:
        return new_reference(value, image) if isinstance(value, str) else value

    for one in resources:
        if one.kind != "CustomResourceDefinition":
            _in_containers(one.content, renamed)
            change_all(one, fields.IMAGES, renamed, new=None)


def _in_containers(node: Any, renamed: fields.SetValue) -> None:
    """Containers anywhere: custom resources have pod templates in places of their own."""
    if isinstance(node, list):
        for one in node:
            _in_containers(one, renamed)
    elif isinstance(node, dict):
        for key, value in node.items():
            _in_containers(value, renamed)
            if key in ("containers", "initContainers") and isinstance(value, list):
                for container in value:
                    if isinstance(container, dict) and "image" in container:
                        container["image"] = renamed(container["image"])


def new_reference(reference: str, image: Mapping[str, str]) -> str:
    """The reference with the new name, tag or digest, if it is of this image. The name is a regular expression."""
    try:
        if not re.search(f"^{image.get('name', '')}{_TAG_AND_DIGEST}", reference):
            return reference
    except re.error:
        return reference
    name, tag, digest = _split(reference)
    name = image.get("newName") or name
    if image.get("newTag") or image.get("digest"):
        tag, digest = image.get("newTag") or "", image.get("digest") or ""
    elif image.get("tagSuffix"):
        tag, digest = tag + image["tagSuffix"], ""
    return name + (f":{tag}" if tag else "") + (f"@{digest}" if digest else "")


def _split(reference: str) -> tuple[str, str, str]:
    """Name, tag and digest; the colon of a registry's port is not that of a tag."""
    start = max(reference.find("/"), 0)
    head, at, digest = reference[start:].partition("@")
    path, _, tag = head.partition(":")
    return reference[:start] + path, tag, digest if at else ""


def is_local_config(one: Resource) -> bool:
    """Objects for tools alone, which are not applied."""
    value = as_map(one.metadata.get("annotations")).get("config.kubernetes.io/local-config", "false")
    return str(value) != "false"
