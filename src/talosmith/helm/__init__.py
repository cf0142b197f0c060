"""Renders Helm charts in pure Python, with Helm's semantics and without a cluster.

render(LocalChart(path), Release("cilium", "kube-system"), values).objects
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talosmith.helm.capabilities import Capabilities, capabilities
from talosmith.lazy import lookup

if TYPE_CHECKING:
    from talosmith.helm.download import Client, Credentials
    from talosmith.helm.errors import ChartError, TemplateError
    from talosmith.helm.manifests import Hook, RenderedObject
    from talosmith.helm.overrides import Override
    from talosmith.helm.release import Release, Rendered
    from talosmith.helm.rendering import render
    from talosmith.helm.sources import ChartSource, LocalChart, RegistryChart, RepositoryChart
    from talosmith.helm.store import Store

__all__ = [
    "Capabilities",
    "ChartError",
    "ChartSource",
    "Client",
    "Credentials",
    "Hook",
    "LocalChart",
    "Override",
    "RegistryChart",
    "Release",
    "Rendered",
    "RenderedObject",
    "RepositoryChart",
    "Store",
    "TemplateError",
    "capabilities",
    "render",
]

__getattr__ = lookup(
    __name__,
    {
        "download": "Client Credentials",
        "errors": "ChartError TemplateError",
        "manifests": "Hook RenderedObject",
        "overrides": "Override",
        "release": "Release Rendered",
        "rendering": "render",
        "sources": "ChartSource LocalChart RegistryChart RepositoryChart",
        "store": "Store",
    },
)
