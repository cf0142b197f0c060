"""What the add-ons of a cluster are rendered from, read and fetched: charts by charts.lock, manifests of the user."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from talosmith.charts import ChartContent, ChartProblem, Lock, resolve
from talosmith.desired.addons import AddonProblem, AddonSources, DesiredAddon
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
            from talosmith.kustomize import load_manifests

            try:
                manifests[name] = load_manifests(Path(one.manifests), root=folder)
            except TalosmithError as wrong:
                problems.append(AddonProblem(name, str(wrong), wrong.hint))
    return AddonSources(contents, manifests, tuple(problems))


def load_bundle(bundle: Path, folder: Path) -> None:
    """The charts of a bundle into the cache, and its charts.lock beside the inventory."""
    from talosmith.charts import read_bundle
    from talosmith.helm.store import Store, default_folder

    read_bundle(bundle, Store(default_folder())).write(folder)


def write_bundle_of(out: Path, sources: AddonSources, addons: Mapping[str, DesiredAddon]) -> list[str]:
    """Write charts, lock and images of these add-ons; returns the images."""
    from talosmith.charts import images_of, write_bundle

    every = [
        item for one in addons.values() for item in (*one.everything, *(h.content for h in (*one.before, *one.later)))
    ]
    images = images_of(every)
    write_bundle(out, sources.charts, images, Lock().with_(sources.charts))
    return list(images)


def write_lock(sources: AddonSources, folder: Path) -> bool:
    """Write charts.lock as these charts are; False if it is unchanged."""
    return Lock.read(folder).with_(sources.charts).write(folder)
