"""Helm rendering next to Helm, applying next to kubectl, and the lab's Kubernetes API: reads, and a large cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.lab import cpu_of, memory_of, write_secrets
from bench.measure import Result, command, python
from tools.peers import build, find
from tools.peers.helm_recipes import CHARTS, HELM, find_chart

OBJECTS = 500
READS = 2_000
NODES, PODS = 1_000, 10_000
_OF_DAEMON_SETS = 2 * NODES  # flannel and kube-proxy, one of each on every node
NETWORK = "127.97.0.0/16"
_RELEASE = ("cilium", "kube-system", "v1.37.1")
_NO_SECRETS = {"hubble": {"tls": {"auto": {"method": "cronJob"}}}}  # then a job makes them, not the chart

_RENDER = """
import json, sys, time
from pathlib import Path
from talosmith.helm import LocalChart, Release, Store, capabilities, render
name, namespace, version = {release!r}
def once():
    return render(LocalChart(Path({chart!r})), Release(name, namespace), {values!r},
                  cluster=capabilities(version, ()), store=Store(Path({store!r})))
best = 9.0
for _ in range({times}):
    started = time.perf_counter()
    once()
    best = min(best, time.perf_counter() - started)
print(best)
"""

_LAB = """
import asyncio, sys
from pathlib import Path
import yaml
from talosmith import load
from talosmith.desired.bundle import Bundle
from talosmith.desired.machine import MachineConfigs
from talosmith_lab import joining
from talosmith_lab.server.lab import LabOptions, LabServer

async def main(folder, network):
    cluster = load(folder / "inventory")
    bundle = Bundle.from_mapping(yaml.safe_load((folder / "secrets.yaml").read_text()))
    configs = MachineConfigs(cluster, bundle)
    async with LabServer(folder, LabOptions(clock="fast", network=network)) as lab:
        for node in cluster.nodes:
            lab.control.create(node.name, address=str(node.ip), config=configs.render(node).text)
        first = lab.world.machines[cluster.controlplanes[0].name]
        while first.service("etcd") is None or first.service("etcd").state != "Preparing":
            await asyncio.sleep(0.1)
        joining.bootstrap(lab.world, first)
        lab.engine.commit()
        while not all(machine["ready"] for machine in lab.control.list_machines()):
            await asyncio.sleep(0.5)
        print("ready", flush=True)
        await lab.serve()

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""

_APPLY = """
import asyncio, gc
gc.set_threshold(50_000)  # as the command line has it
from pathlib import Path
from talosmith.kube import KubeClient, apply
async def main():
    async with KubeClient.from_kubeconfig(Path({kubeconfig!r}).read_text()) as client:
        done = await apply(client, Path({manifests!r}).read_text())
        assert len(done.of("created")) == {count}, done.text()[:500]
asyncio.run(main())
"""


def results() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        yield from _rendering(folder)
        yield _applying(folder)
    with _lab(1) as (folder, pid):
        yield _reading(folder, pid)
    with _lab(NODES) as (folder, pid):
        yield _large(folder, pid)


# Rendering


def _rendering(folder: Path) -> Iterator[Result]:
    module = next(one for one in CHARTS if "cilium" in one.names)
    chart = find_chart(module, "cilium")
    name, namespace, version = _RELEASE
    helm: list[str | Path] = [build(HELM) / "helm", "template", name, chart, "-n", namespace]
    theirs = command([*helm, "--kube-version", version], environment={"HOME": str(folder)})
    started = python("from talosmith.helm import render")
    fresh = [_code(chart, {}, folder / f"store-{number}") for number in range(3)]
    ours = min((python(code, runs=1) for code in fresh), key=lambda cost: cost.cpu)
    figures = f"{ours.cpu:.2f} s against {theirs.cpu:.2f} s of CPU; {started.cpu:.2f} s of ours is starting Python"
    yield Result("rendering cilium's chart: ours / helm", figures, ours.cpu / theirs.cpu, 10)
    again = _seconds(_code(chart, {}, folder / "store-again", times=6))
    yield Result("… again in the same process: s", "with Secrets, which are kept in memory only", again, 0.1)
    kept = _code(chart, _NO_SECRETS, folder / "store-kept")
    _seconds(kept)
    again = min(_seconds(kept) for _ in range(3))
    yield Result("… again in another process: s", "without Secrets, from the cache on disk", again, 0.1)


def _code(chart: Path, values: object, store: Path, times: int = 1) -> str:
    return _RENDER.format(release=_RELEASE, chart=str(chart), values=values, store=str(store), times=times)


def _seconds(code: str) -> float:
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


# Applying


def _applying(folder: Path) -> Result:
    """Each in a namespace of its own, in turns, the best of five: other work on the machine only ever adds."""
    from tests.real.kube.apiserver import attach  # which needs what only a developer has

    server = attach(folder / "server", os.getpid())
    kubectl = [str(find("kubectl")), "--kubeconfig", str(server.kubeconfig)]
    best: dict[str, tuple[float, float]] = {}
    for turn in range(5):
        for who in ("ours", "theirs"):
            space = f"{who}-{turn}"
            subprocess.run([*kubectl, "create", "namespace", space], check=True, capture_output=True)
            manifests = folder / f"{space}.json"
            manifests.write_text("\n---\n".join(json.dumps(one) for one in _objects(space)))
            asked = [*kubectl, "apply", "--server-side", "-f", str(manifests)]
            if who == "ours":
                code = _APPLY.format(kubeconfig=str(server.kubeconfig), manifests=str(manifests), count=OBJECTS)
                asked = [sys.executable, "-c", code]
            began = time.perf_counter()
            cost = command(list(asked), runs=1)
            best[who] = min(best.get(who, (1e9, 0.0)), (time.perf_counter() - began, cost.cpu))
    (ours, our_cpu), (theirs, their_cpu) = best["ours"], best["theirs"]
    figures = (
        f"{ours:.1f} s against {theirs:.1f} s, to a real API server; CPU {our_cpu:.1f} s against {their_cpu:.1f} s"
    )
    return Result(f"applying {OBJECTS} objects: ours / kubectl", figures, ours / theirs, 1.0)


def _objects(space: str) -> Iterator[dict[str, object]]:
    container = {"name": "web", "image": "registry.example.org/web:1", "ports": [{"containerPort": 8080}]}
    for number in range(OBJECTS // 5):
        labels = {"app": f"web-{number}"}
        meta = {"name": f"web-{number}", "namespace": space, "labels": labels}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"key": "value" * 20}}
        yield {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": {"key": "value"}}
        yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}
        ports = [{"name": "http", "port": 80, "targetPort": 8080}]
        yield {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"selector": labels, "ports": ports}}
        spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": template}
        yield {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


# The lab's own API


@contextmanager
def _lab(nodes: int) -> Iterator[tuple[Path, int]]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "inventory").mkdir()
        (folder / "inventory" / "cluster.yaml").write_text(
            "cluster_name: bench\ntalos_version: v1.14.1\nkubernetes_version: v1.37.1\nlab: {clock: fast}\n"
            f"network: {{node_cidr: {NETWORK}, pod_cidr: 10.128.0.0/9}}\ncontrolplane: 1\nworkers: {nodes - 1}\n"
        )
        write_secrets(folder / "secrets.yaml")
        server = subprocess.Popen(
            [sys.executable, "-c", _LAB, str(folder), NETWORK], stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n", "the lab did not come up"
            yield folder, server.pid
        finally:
            server.terminate()
            server.wait()


def _reading(folder: Path, pid: int) -> Result:
    """The best of five, by a client that does next to nothing itself."""
    import http.client

    from talosmith.kube.credentials import Credentials

    bundle, address = _bundle(folder), _first_address()
    context = Credentials.from_bundle(bundle).context()
    context.check_hostname = False  # the certificate's chain is still checked
    connection = http.client.HTTPSConnection(address, 6443, context=context)
    best, before = 0.0, cpu_of(pid)
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(READS // 5):
            connection.request("GET", "/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt")
            answer = connection.getresponse()
            content = answer.read()
            assert answer.status == 200, content
        best = max(best, READS / 5 / (time.perf_counter() - began))
    connection.close()
    figures = f"one client, TLS, one connection; {(cpu_of(pid) - before) / READS * 1000:.2f} ms of CPU each"
    return Result("the lab's Kubernetes API: reads/s", figures, best, 500, at_least=True)


def _large(folder: Path, pid: int) -> Result:
    code = f"""
import asyncio, time
from pathlib import Path
import yaml
from talosmith.desired.bundle import Bundle
from talosmith.kube import KubeClient, Ref, list_nodes, ready, wait
async def main():
    bundle = Bundle.from_mapping(yaml.safe_load(Path({str(folder / "secrets.yaml")!r}).read_text()))
    labels = {{"app": "many"}}
    pod = {{"metadata": {{"labels": labels}}, "spec": {{"containers": [{{"name": "web", "image": "web:1"}}]}}}}
    spec = {{"replicas": {PODS - _OF_DAEMON_SETS}, "selector": {{"matchLabels": labels}}, "template": pod}}
    spec["progressDeadlineSeconds"] = 3600
    meta = {{"name": "many", "namespace": "default"}}
    async with KubeClient.from_bundle(bundle, [{_first_address()!r}]) as client:
        await client.apply({{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}})
        began = time.perf_counter()
        await wait(client, [ready(Ref("apps/v1", "Deployment", "many", "default"))], timeout=1800)
        print(time.perf_counter() - began)
        assert len(await list_nodes(client)) == {NODES}
        assert len((await client.list("v1", "Pod")).items) >= {PODS}
asyncio.run(main())
"""
    seconds = _seconds(code)
    figures = f"all pods were ready after {seconds:.0f} s"
    return Result(f"a lab of {NODES:,} nodes with {PODS:,} pods: MiB", figures, memory_of(pid), 1024)


def _bundle(folder: Path) -> object:
    import yaml

    from talosmith.desired.bundle import Bundle

    return Bundle.from_mapping(yaml.safe_load((folder / "secrets.yaml").read_text()))


def _first_address() -> str:
    return str(Path(NETWORK).parent).rpartition(".")[0] + ".10"
