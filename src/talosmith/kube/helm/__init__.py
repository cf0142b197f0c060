"""Renders Helm charts in pure Python, with Helm's semantics and without a cluster.

render(LocalChart(path), Release("cilium", "kube-system"), values).objects
"""

from talosmith.kube.helm.capabilities import Capabilities, capabilities
from talosmith.kube.helm.download import Client, Credentials
from talosmith.kube.helm.errors import ChartError, TemplateError
from talosmith.kube.helm.manifests import Hook, RenderedObject
from talosmith.kube.helm.overrides import Override
from talosmith.kube.helm.render import Release, Rendered
from talosmith.kube.helm.rendering import render
from talosmith.kube.helm.sources import ChartSource, LocalChart, RegistryChart, RepositoryChart
from talosmith.kube.helm.store import Store

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
