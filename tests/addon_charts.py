"""The charts of a cluster's add-ons, offered by a chart server: real ones where there are some, or stand-ins.

A stand-in has the workloads of the real one as far as others look at them: a CNI writes to the nodes' CNI folder, an
operator has its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml

from talosmith.helm import folder
from talosmith.model.cluster import ChartPin, Cluster
from tests.chart_server import ChartServer
from tests.charts import Definition, Kind, packed, standin_chart

_DEFINITIONS: dict[str, tuple[tuple[str, str, str, str], ...]] = {
    "gateway-crds-helm": (
        ("GatewayClass", "gateway.networking.k8s.io", "v1", "Cluster"),
        ("Gateway", "gateway.networking.k8s.io", "v1", "Namespaced"),
        ("HTTPRoute", "gateway.networking.k8s.io", "v1", "Namespaced"),
        ("EnvoyProxy", "gateway.envoyproxy.io", "v1alpha1", "Namespaced"),
        ("BackendTrafficPolicy", "gateway.envoyproxy.io", "v1alpha1", "Namespaced"),
        ("ClientTrafficPolicy", "gateway.envoyproxy.io", "v1alpha1", "Namespaced"),
    ),
    "cert-manager": (
        ("ClusterIssuer", "cert-manager.io", "v1", "Cluster"),
        ("Certificate", "cert-manager.io", "v1", "Namespaced"),
    ),
    "external-dns": (("DNSEndpoint", "externaldns.k8s.io", "v1alpha1", "Namespaced"),),
    "tuppr": (
        ("TalosUpgrade", "tuppr.home-operations.com", "v1alpha1", "Cluster"),
        ("KubernetesUpgrade", "tuppr.home-operations.com", "v1alpha1", "Cluster"),
    ),
}
_KINDS: dict[str, Kind] = {"gateway-crds-helm": "crds", "spegel": "DaemonSet", "csi-driver-nfs": "DaemonSet"}
_CILIUM = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: cilium}
spec:
  selector: {matchLabels: {k8s-app: cilium}}
  template:
    metadata: {labels: {k8s-app: cilium}}
    spec:
      hostNetwork: true
      tolerations: [{operator: Exists}]
      containers: [{name: cilium-agent, image: "quay.io/cilium/cilium:v1"}]
      volumes: [{name: cni, hostPath: {path: /etc/cni/net.d}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cilium-operator}
spec:
  replicas: {{ .Values.operator.replicas }}
  selector: {matchLabels: {name: cilium-operator}}
  template:
    metadata: {labels: {name: cilium-operator}}
    spec:
      hostNetwork: true
      tolerations: [{operator: Exists}]
      containers: [{name: operator, image: "quay.io/cilium/operator-generic:v1"}]
"""
_NAMED = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, labels: {k8s-app: NAME}}
spec:
  replicas: 1
  selector: {matchLabels: {k8s-app: NAME}}
  template:
    metadata: {labels: {k8s-app: NAME}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: main, image: "registry.example.org/NAME:1"}]
"""
_OTHER_NAMES = {  # of workloads that are not called as their release
    "talos-cloud-controller-manager": "talos-cloud-controller-manager",
    "aws-cloud-controller-manager": "aws-cloud-controller-manager",
    "proxmox-cloud-controller-manager": "proxmox-cloud-controller-manager",
}


def chart_name(pin: ChartPin) -> str:
    return pin.name or pin.source.rpartition("/")[2]


def offer_addons(server: ChartServer, cluster: Cluster, real: dict[str, Path] | None = None) -> list[str]:
    """Offer the chart of each add-on at its own place; `real`: charts by name, as folders. Returns the stand-ins."""
    made = []
    for name, one in cluster.addons.items():
        pin = one.chart
        if pin is None or pin.is_local:
            continue
        chart = chart_name(pin)
        path = (real or {}).get(chart)
        content = _of_folder(path, pin.version) if path else _standin(chart, pin.version)
        made += [] if path else [name]
        server.offer(pin.source, pin.version, content, chart)
    return made


def _of_folder(path: Path, version: str) -> bytes:
    """With the version that is pinned: in their repositories many charts have a placeholder."""
    files = dict(folder.read(path))
    described = yaml.safe_load(files["Chart.yaml"])
    files["Chart.yaml"] = yaml.safe_dump({**described, "version": version}).encode()
    return packed(files, folder=path.name)


def _standin(chart: str, version: str) -> bytes:
    described = {"Chart.yaml": f"apiVersion: v2\nname: {chart}\nversion: {version}\n", "values.yaml": "{}\n"}
    if chart == "cilium":
        return packed({**described, "templates/all.yaml": _CILIUM}, folder=chart)
    if chart in _OTHER_NAMES or chart == "coredns":
        text = _NAMED.replace("NAME", _OTHER_NAMES.get(chart, "coredns"))
        return packed({**described, "templates/all.yaml": text}, folder=chart)
    return standin_chart(chart, version, _KINDS.get(chart, "Deployment"), definitions=list(_definitions(chart)))


def _definitions(chart: str) -> Iterator[Definition]:
    yield from _DEFINITIONS.get(chart, ())


def mirrors_block(server: ChartServer) -> str:
    """The part of an inventory that has charts pulled from the server."""
    return f"charts: {yaml.safe_dump({'mirrors': dict(server.mirrors)}, default_flow_style=True, width=10_000)}"


def addons_of(example: Path) -> str:
    """The block of an example's inventory, as it stands there."""
    return "\naddons:\n" + example.read_text().partition("\naddons:\n")[2]
