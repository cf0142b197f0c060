"""What the add-ons of a cluster are rendered from, read and fetched: charts by charts.lock, manifests of the user."""

from __future__ import annotations

from pathlib import Path

from talosmith.charts import ChartContent, ChartProblem, Lock, resolve
from talosmith.desired.addons import AddonProblem, AddonSources
from talosmith.errors import TalosmithError
from talosmith.model.cluster import Cluster


def read_sources(cluster: Cluster, folder: Path, *, offline: bool = False) -> AddonSources:
    """Everything at once, with every problem. Takes as long as the network does where the cache lacks a chart."""
    pins = {name: one.chart for name, one in cluster.addons.items() if one.chart is not None}
    contents: dict[str, ChartContent] = {}
    found: list[ChartProblem] = []
    if pins:
        mirrors = cluster.services.charts.mirrors
        contents, found = resolve(pins, Lock.read(folder), mirrors=mirrors, offline=offline)
    problems = [AddonProblem(one.addon, one.what, one.fix) for one in found]
    manifests = {}
    for name, one in cluster.addons.items():
        if one.manifests:
            from talosmith.kustomize import read_manifests

            try:
                manifests[name] = read_manifests(Path(one.manifests))
            except TalosmithError as wrong:
                problems.append(AddonProblem(name, str(wrong), wrong.hint))
    return AddonSources(contents, manifests, tuple(problems))


def write_lock(sources: AddonSources, folder: Path) -> bool:
    """Write charts.lock as these charts are; False if it is so already."""
    return Lock.read(folder).with_(sources.charts).write(folder)
