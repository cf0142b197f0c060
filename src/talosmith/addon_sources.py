"""What the add-ons of a cluster are rendered from, read and fetched: charts by charts.lock, manifests of the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from talosmith.charts import ChartContent, ChartProblem, Lock, resolve
from talosmith.desired.addons import AddonProblem, AddonSources, DesiredAddon
from talosmith.errors import TalosmithError
from talosmith.model.cluster import Cluster


def read_sources(
    cluster: Cluster, folder: Path, *, offline: bool = False, pulling: Callable[[list[str]], None] | None = None
) -> AddonSources:
    """Everything at once, with every problem. `pulling` is called if charts have to be pulled: that may take long."""
    pins = {name: one.chart for name, one in cluster.addons.items() if one.chart is not None}
    contents: dict[str, ChartContent] = {}
    found: list[ChartProblem] = []
    if pins:
        lock, mirrors = Lock.read(folder), cluster.services.charts.mirrors
        contents, found = resolve(pins, lock, mirrors=mirrors, offline=True)
        missing = {one.addon: pins[one.addon] for one in found}
        if missing and not offline:
            if pulling is not None:
                pulling([*missing])
            pulled, found = resolve(missing, lock, mirrors=mirrors)
            contents = {name: {**contents, **pulled}[name] for name in pins if name in contents or name in pulled}
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
