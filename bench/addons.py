"""Add-ons: charts rendered next to Helm, cold and from the cache; a plan of the home lab with nothing to do."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.home import Home, home, running
from bench.measure import Cost, Result, command, python
from talosmith.charts import Lock
from talosmith.desired.addons import values_of
from talosmith.helm import Store
from tools.peers import build
from tools.peers.helm_recipes import CHARTS, HELM, fetch_charts

_VERSION = "v1.37.1"
# Values of a cluster at home, without secrets; those of talosmith's own come from a whole inventory.
_CHARTS: dict[str, dict[str, Any]] = {
    "cilium": {
        "ipam": {"mode": "kubernetes"},
        "kubeProxyReplacement": True,
        "k8sServiceHost": "localhost",
        "k8sServicePort": 7445,
        "cgroup": {"autoMount": {"enabled": False}, "hostRoot": "/sys/fs/cgroup"},
        "hubble": {"enabled": False},
        "l2announcements": {"enabled": True},
    },
    "metrics-server": {"args": ["--kubelet-insecure-tls"]},
    "external-dns": {"provider": {"name": "cloudflare"}, "sources": ["gateway-httproute"], "policy": "sync"},
    "cert-manager": {"crds": {"enabled": True}},
    "gateway-helm": {"deployment": {"replicas": 2}},
    "spegel": {"spegel": {"containerdRegistryConfigPath": "/etc/cri/conf.d/hosts"}},
    "local-path-provisioner": {"storageClass": {"defaultClass": True}},
    "aws-ebs-csi-driver": {"controller": {"replicaCount": 1}},
    "aws-cloud-controller-manager": {"args": ["--v=2", "--cloud-provider=aws"]},
    "proxmox-csi-plugin": {},
    "proxmox-cloud-controller-manager": {},
    "argo-cd": {"dex": {"enabled": False}},
}

_RENDER = """
import json, time
from pathlib import Path
from talosmith.charts import Lock, render_chart, resolve
from talosmith.charts.lock import Locked
from talosmith.helm import Release, Store, capabilities
from talosmith.model.cluster import ChartPin
charts, store = json.loads(Path({charts!r}).read_text()), Store(Path({store!r}))
pins, locked = {{}}, {{}}
for name, (path, _) in charts.items():
    pins[name] = pin = ChartPin("oci://registry.example.org/" + name, "1.0.0")
    locked[name] = Locked(pin.source, "", "1.0.0", "1.0.0", store.put(Path(path).read_bytes()))
started, count = time.perf_counter(), 0
contents, problems = resolve(pins, Lock(locked), mirrors={{}}, store=store, offline=True)
assert not problems, problems
for name, (_, values) in charts.items():
    cluster = capabilities({version!r})
    found = render_chart(contents[name], Release(name, "apps"), values, cluster=cluster, store=store)
    assert found.renderer == "talosmith"
    count += len(found.objects) + len(found.crds)
print(count, time.perf_counter() - started)
"""


# From the inventory to the objects of every add-on, as a plan has them.
_HOME = """
import time
from pathlib import Path
from talosmith import load
from talosmith.desired.secrets_file import read_secrets
folder = Path({folder!r})
cluster, secrets = load(folder), read_secrets(folder)
started = time.perf_counter()
from talosmith.addon_sources import read_sources
from talosmith.desired.addons import desired_addons
found, problems = desired_addons(cluster, read_sources(cluster, folder, offline=True), secrets)
assert not problems, problems
print(sum(len(one.everything) for one in found.values()), time.perf_counter() - started)
"""


def results() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as scratch:
        yield from _catalogue(Path(scratch))
    with tempfile.TemporaryDirectory() as scratch, home(Path(scratch)) as place:
        yield from _home(place)
        with running(place):
            yield _planning(place)


# All charts that a Go module carries


def _catalogue(folder: Path) -> Iterator[Result]:
    charts = {name: (str(_packed(name, folder)), values) for name, values in _CHARTS.items()}
    theirs = sum(_helm(Path(path), name, "apps", values, _VERSION) for name, (path, values) in charts.items())
    (folder / "charts.json").write_text(json.dumps(charts))
    started = python("from talosmith.helm import renderer")
    fresh = [python(_code(folder, f"store-{number}"), runs=1) for number in range(3)]
    ours = min(fresh, key=lambda cost: cost.cpu)
    objects = ours.said.split()[0]
    figures = f"{objects} objects; {ours.cpu:.2f} s against {theirs:.2f} s of CPU; {started.cpu:.2f} s is start-up"
    yield Result(f"rendering {len(charts)} add-ons' charts, cold: ours / helm", figures, ours.cpu / theirs, 3)
    again = min(float(python(_code(folder, "store-0"), runs=1).said.split()[1]) for _ in range(3))
    yield Result("… again in another process: s", "charts and results from the cache, verified", again, 0.1)


def _code(folder: Path, store: str) -> str:
    return _RENDER.format(charts=str(folder / "charts.json"), store=str(folder / store), version=_VERSION)


def _packed(name: str, folder: Path) -> Path:
    """The chart as an archive, as add-ons have it."""
    from tests.real.helm.module_charts import LACKING, drop_dependency  # which needs what only a developer has

    module = next(one for one in CHARTS if name in one.names)
    chart = folder / "charts" / name
    shutil.copytree(fetch_charts(module) / name, chart)
    if name in LACKING:
        drop_dependency(chart, LACKING[name])
    helm = build(HELM) / "helm"
    command([helm, "package", chart, "--destination", folder / name, "--version", "1.0.0"], runs=1)
    return next((folder / name).glob("*.tgz"))


def _helm(path: Path, name: str, namespace: str, values: dict[str, Any], version: str) -> float:
    """What Helm needs to render an archive: seconds of CPU."""
    given = path.with_suffix(".json")
    given.write_text(json.dumps(values))
    asked = [build(HELM) / "helm", "template", name, path, "-n", namespace, "--include-crds"]
    more = ["--kube-version", version, "--values", given]
    return command([*asked, *more], runs=3, environment={"HOME": str(path.parent)}).cpu


# The example `homelab`, with the values, secrets and objects that its inventory brings


def _home(place: Home) -> Iterator[Result]:
    cluster, cache = place.cluster, Path(place.environment["XDG_CACHE_HOME"]) / "talosmith" / "charts"
    locked = Lock.read(place.folder).charts
    theirs = 0.0
    for name, one in locked.items():
        path, enabled = place.folder.parent / f"{name}.tgz", cluster.addons[name]
        path.write_bytes(Store(cache).get(one.digest) or b"")
        theirs += _helm(path, name, enabled.namespace, values_of(cluster, enabled), str(cluster.kubernetes_version))
    fresh = []
    for _ in range(3):
        shutil.rmtree(cache / "rendered")
        fresh.append(_rendered(place))
    ours = min(fresh, key=lambda cost: cost.cpu)
    figures = f"{ours.said.split()[0]} objects; {ours.cpu:.2f} s against {theirs:.2f} s of CPU, all of a process"
    figures += f"; no real chart: {', '.join(place.standins)}"
    yield Result(f"rendering the home lab's {len(locked)} charts, cold: ours / helm", figures, ours.cpu / theirs, 3)
    again = min(float(_rendered(place).said.split()[1]) for _ in range(5))
    yield Result("… again in another process: s", "with the objects of our own, and to import it all", again, 0.1)


def _rendered(place: Home) -> Cost:
    code = _HOME.format(folder=str(place.folder))
    return command([sys.executable, "-c", code], runs=1, environment=place.environment)


def _planning(place: Home) -> Result:
    """The best of five: other work on the machine only ever adds."""
    asked: list[str | Path] = [sys.executable, "-m", "talosmith", "plan", "-i", place.folder]
    every = [command(asked, runs=1, environment=place.environment) for _ in range(5)]
    best = min(every, key=lambda cost: cost.seconds)
    assert "in sync" in best.said, best.said
    what = f"plan of the home lab, {len(place.cluster.addons)} add-ons, nothing to do: s"
    return Result(what, f"to start included; {best.cpu:.2f} s of CPU", best.seconds, 1.5)
