"""Helm, and the Go modules that carry the charts which both Helm and talosmith render.

Charts are copied out of their modules once, into the cache of the peers; nothing of them is part of the repository.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.peers.recipe import PeerUnavailable, Recipe

_HELM = "v4.3.1"
_HELM_VERSION = "helm.sh/helm/v4/internal/version"

HELM = Recipe(
    name="helm",
    module="helm.sh/helm/v4",
    version=_HELM,
    binaries={"helm": "./cmd/helm"},
    check=("version", "--short"),
    says=_HELM,
    ldflags=f"-X {_HELM_VERSION}.version={_HELM}",
)

_REGISTRY = "v3.1.2"

# An OCI registry that charts are pushed to and pulled from.
REGISTRY = Recipe(
    name="registry",
    module="github.com/distribution/distribution/v3",
    version=_REGISTRY,
    binaries={"registry": "./cmd/registry"},
    check=("--version",),
    says=_REGISTRY,
    ldflags=f"-X github.com/distribution/distribution/v3/version.version={_REGISTRY}",
    add={"cmd/registry/main.go": "registry/main.go"},
)


@dataclass(frozen=True)
class ChartModule:
    """A Go module, and the folders of it that hold charts."""

    module: str
    version: str
    folder: str  # where the charts are; one star stands for each of `names`
    names: tuple[str, ...]
    released: str = ""  # version of the published charts, where those in the module have a placeholder
    values: Mapping[str, str] | None = None  # values.yaml is made of values.tmpl.yaml, with these in place of `${…}`

    def charts(self) -> dict[str, str]:
        return {name: self.folder.replace("*", name) for name in self.names}

    def content(self) -> str:
        """What the folder in the cache is made of; `values` that are not there say nothing."""
        told = ("module", "version", "folder", "names", *(("values",) if self.values else ()))
        return f"ChartModule({', '.join(f'{name}={getattr(self, name)!r}' for name in told)})"


CHARTS = (
    ChartModule("github.com/cilium/cilium", "v1.20.2", "install/kubernetes/*", ("cilium",)),
    ChartModule("sigs.k8s.io/metrics-server", "v0.9.0", "charts/*", ("metrics-server",)),
    ChartModule("sigs.k8s.io/external-dns", "v0.22.0", "charts/*", ("external-dns",)),
    ChartModule(
        "github.com/cert-manager/cert-manager", "v1.21.2", "deploy/charts/*", ("cert-manager",), released="v1.21.2"
    ),
    ChartModule("github.com/envoyproxy/gateway", "v1.9.1", "charts/*", ("gateway-crds-helm",)),
    ChartModule(
        "github.com/envoyproxy/gateway",
        "v1.9.1",
        "charts/*",
        ("gateway-helm",),
        released="v1.9.1",
        values={"GatewayImage": "docker.io/envoyproxy/gateway:v1.9.1", "GatewayImagePullPolicy": "IfNotPresent"},
    ),
    ChartModule("github.com/spegel-org/spegel", "v0.7.3", "charts/*", ("spegel",), released="0.7.3"),
    ChartModule("github.com/kubernetes-sigs/aws-ebs-csi-driver", "v1.63.0", "charts/*", ("aws-ebs-csi-driver",)),
    ChartModule("k8s.io/cloud-provider-aws", "v1.37.0", "charts/*", ("aws-cloud-controller-manager",)),
    ChartModule(
        "github.com/rancher/local-path-provisioner", "v0.0.30", "deploy/chart/*", ("local-path-provisioner",)
    ),
    ChartModule("github.com/sergelogvinov/proxmox-csi-plugin", "v0.16.0", "charts/*", ("proxmox-csi-plugin",)),
    ChartModule(
        "github.com/sergelogvinov/proxmox-cloud-controller-manager",
        "v0.7.0",
        "charts/*",
        ("proxmox-cloud-controller-manager",),
    ),
    ChartModule("github.com/kyverno/kyverno", "v1.19.1", "charts/*", ("kyverno-policies",)),
    ChartModule("sigs.k8s.io/descheduler", "v0.36.0", "charts/*", ("descheduler",)),
    ChartModule("k8s.io/ingress-nginx", "v0.0.0-20240708192948-52c50467d67d", "charts/*", ("ingress-nginx",)),
    ChartModule("sigs.k8s.io/kwok", "v0.8.0", "charts/*", ("kwok", "stage-fast", "metrics-usage")),
    ChartModule(
        "istio.io/istio",
        "v0.0.0-20260827124520-eed52ebb66ad",
        "manifests/charts/*",
        ("base", "gateway", "ztunnel", "istio-cni", "istio-control/istio-discovery"),
    ),
    ChartModule(
        "github.com/argoproj/argo-helm",
        "v0.0.0-20260904222229-3bbb4305eea9",
        "charts/*",
        ("argo-rollouts", "argo-events", "argo-workflows", "argocd-image-updater", "argo-cd"),
    ),
    ChartModule(
        "github.com/prometheus-community/helm-charts",
        "v0.0.0-20260828105119-ed5d7d9b5933",
        "charts/*",
        (
            "prometheus-node-exporter",
            "prometheus-blackbox-exporter",
            "prometheus-pushgateway",
            "kube-state-metrics",
            "prometheus-adapter",
            "alertmanager",
            "prometheus-snmp-exporter",
            "prometheus-smartctl-exporter",
        ),
    ),
    ChartModule("github.com/traefik/traefik-helm-chart", "v41.6.0+incompatible", "*", ("traefik",)),
    ChartModule("github.com/hashicorp/vault-helm", "v0.34.1", ".", ("vault",)),
    ChartModule(
        "github.com/kedacore/charts",
        "v2.20.3-0.20260903105638-fe065f4d8938+incompatible",
        "*",
        ("keda", "http-add-on"),
    ),
    ChartModule(
        "github.com/grafana/helm-charts",
        "v0.0.0-20260820194520-7a0ab968961a",
        "charts/*",
        ("promtail", "rollout-operator", "loki-distributed", "fluent-bit"),
    ),
    ChartModule(
        "github.com/bitnami/charts",
        "v0.0.0-20260907150927-c0703daaf78e",
        "bitnami/*",
        ("common", "redis", "postgresql", "metallb", "nginx", "kafka", "rabbitmq", "external-dns"),
    ),
)


def find_chart(module: ChartModule, name: str) -> Path:
    """The folder of a chart in the cache."""
    path = _folder(module) / name
    if not (path / "Chart.yaml").is_file():
        raise PeerUnavailable(f"the chart {name} of {module.module} was not fetched; run `make peers`")
    return path


def fetch_charts(module: ChartModule) -> Path:
    """Copy the charts of a module into the cache, unless they are there."""
    from tools.peers.build import _go, cache  # which knows the list of recipes, and so this file

    target = _folder(module)
    if target.is_dir():
        return target
    cache().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="charts-", dir=cache()) as scratch:
        found = json.loads(_go(["mod", "download", "-json", f"{module.module}@{module.version}"], Path(scratch)))
        out = Path(scratch, "out")
        for name, folder in module.charts().items():
            # Whole folders without their file modes: a module cache is read-only.
            shutil.copytree(Path(found["Dir"], folder), out / name, copy_function=shutil.copyfile)
            for path in (out / name, *(out / name).rglob("*")):
                path.chmod(0o755 if path.is_dir() else 0o644)
            _fill_values(out / name, module.values)
        out.rename(target)
    return target


def _fill_values(chart: Path, values: Mapping[str, str] | None) -> None:
    if values is not None:
        text = (chart / "values.tmpl.yaml").read_text()
        (chart / "values.yaml").write_text(re.sub(r"\$\{(\w+)\}", lambda match: values[match[1]], text))


def _folder(module: ChartModule) -> Path:
    from tools.peers.build import cache

    told = hashlib.sha256(module.content().encode()).hexdigest()[:12]
    return cache() / f"charts-{module.module.replace('/', '-')}-{module.version}-{told}"
