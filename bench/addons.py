"""Rendering the catalogue's charts, all of them, next to Helm: cold, and from the cache."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.measure import Result, command, python
from tools.peers import build
from tools.peers.helm_recipes import CHARTS, HELM, fetch_charts

_VERSION = "v1.36.3"
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


def results() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        yield from _rendering(folder)


def _rendering(folder: Path) -> Iterator[Result]:
    helm = build(HELM) / "helm"
    charts = {name: (str(_packed(helm, name, folder)), values) for name, values in _CHARTS.items()}
    theirs = 0.0
    for name, (path, values) in charts.items():
        (folder / f"{name}.json").write_text(json.dumps(values))
        asked = [helm, "template", name, path, "-n", "apps", "--include-crds", "--kube-version", _VERSION]
        cost = command([*asked, "--values", folder / f"{name}.json"], runs=3, environment={"HOME": str(folder)})
        theirs += cost.cpu
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


def _packed(helm: Path, name: str, folder: Path) -> Path:
    """The chart as an archive, as add-ons have it."""
    from tests.real.helm.module_charts import LACKING, drop_dependency  # which needs what only a developer has

    module = next(one for one in CHARTS if name in one.names)
    chart = folder / "charts" / name
    shutil.copytree(fetch_charts(module) / name, chart)
    if name in LACKING:
        drop_dependency(chart, LACKING[name])
    command([helm, "package", chart, "--destination", folder / name, "--version", "1.0.0"], runs=1)
    return next((folder / name).glob("*.tgz"))
