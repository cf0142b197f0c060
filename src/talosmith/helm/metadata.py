"""What a Chart.yaml says, as templates see it in `.Chart`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from talosmith.helm.errors import ChartError

_TEXT_FIELDS = {
    "name": "Name", "home": "Home", "version": "Version", "description": "Description", "icon": "Icon",
    "apiVersion": "APIVersion", "condition": "Condition", "tags": "Tags", "appVersion": "AppVersion",
    "kubeVersion": "KubeVersion", "type": "Type",
}  # fmt: skip


def metadata_of(described: Mapping[str, Any]) -> dict[str, Any]:
    """The fields by their names in Go; raises for a chart without a name or a version."""
    metadata: dict[str, Any] = {title: text_of(described.get(name)) for name, title in _TEXT_FIELDS.items()}
    if not metadata["APIVersion"]:
        metadata["APIVersion"] = "v1"
    for name in ("Name", "Version"):
        if not metadata[name]:
            raise ChartError(f"Chart.yaml has no {name.lower()}")
    metadata["Deprecated"] = described.get("deprecated") is True
    metadata["Sources"] = list(described.get("sources") or [])
    metadata["Keywords"] = list(described.get("keywords") or [])
    metadata["Maintainers"] = [
        {
            title: text_of((one or {}).get(name))
            for name, title in (("name", "Name"), ("email", "Email"), ("url", "URL"))
        }
        for one in described.get("maintainers") or []
    ]
    metadata["Annotations"] = {
        str(key): text_of(value) for key, value in (described.get("annotations") or {}).items()
    }
    return metadata


def text_of(value: Any) -> str:
    """Helm reads a number where text should stand as that text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)
