"""Add-ons by their real charts in a lab whose Kubernetes is real: applied, admitted by webhooks, Ready, in sync."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.contract.kube.kube_world import until
from tests.loopback import free_network
from tools.peers.helm_recipes import CHARTS, find_chart
from tools.peers.recipe import PeerUnavailable

INVENTORY = """\
cluster_name: addons
talos_version: v1.14.1
kubernetes_version: v1.37.1
lab: {{kubernetes: real}}
network: {{node_cidr: {network}}}
controlplane: 1
workers: 1
domain: example.org
dns: {{internal: none}}
gateways: {{internal: {prefix}.101, external: {prefix}.102}}
addons:
  cilium: {{chart: {charts[cilium]}}}
  cert-manager: {{chart: {charts[cert-manager]}}}
  gateway-api: {{chart: {charts[gateway-crds-helm]}}}
  envoy-gateway: {{chart: {charts[gateway-helm]}}}
  metrics-server: {{chart: {charts[metrics-server]}}}
  spegel: {{chart: {charts[spegel]}}}
  talos-ccm: false
"""
ISSUER = {
    "apiVersion": "cert-manager.io/v1",
    "kind": "ClusterIssuer",
    "metadata": {"name": "late"},
    "spec": {"selfSigned": {}},
}


@dataclass(frozen=True)
class Site:
    folder: Path
    environment: dict[str, str]
    kubectl_path: Path

    def talosmith(self, *arguments: str) -> str:
        done = self._run([sys.executable, "-m", "talosmith", *arguments])
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    def kubectl(self, *arguments: str, given: Any = None) -> subprocess.CompletedProcess[str]:
        return self._run([str(self.kubectl_path), "--kubeconfig", "kubeconfig", *arguments], json.dumps(given))

    def get(self, *arguments: str) -> Any:
        return json.loads(self.kubectl("get", *arguments, "-o", "json").stdout or "{}")

    def conditions(self, *arguments: str) -> dict[str, str]:
        told = (self.get(*arguments).get("status") or {}).get("conditions") or ()
        return {one["type"]: one["status"] for one in told}

    def _run(self, command: list[str], given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            input=given,
            timeout=900,
            env=self.environment,
            cwd=self.folder,
            check=False,
        )


def charts() -> dict[str, Path]:
    try:
        modules = [module for module in CHARTS if "bitnami" not in module.module]
        return {name: find_chart(module, name) for module in modules for name in module.names}
    except PeerUnavailable as problem:
        pytest.skip(str(problem))


@pytest.fixture(scope="module")
def site(peer: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder, network = tmp_path_factory.mktemp("addons"), free_network()
    prefix = network.partition("/")[0].rpartition(".")[0]
    (folder / "cluster.yaml").write_text(INVENTORY.format(network=network, prefix=prefix, charts=charts()))
    environment = {
        **os.environ,
        "HOME": str(folder),
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "KUBEBUILDER_ASSETS": os.pathsep.join(str(peer(name).parent) for name in ("kube-apiserver", "etcd")),
    }
    made = Site(folder, environment, peer("kubectl"))
    made.talosmith("secrets", "init")
    try:
        made.talosmith("up", "--yes")
        yield made
    finally:
        made.talosmith("destroy", "--confirm", "addons")


def test_all_are_ready_and_in_sync(site: Site) -> None:
    assert "in sync" in site.talosmith("up", "--yes")
    assert "6 in sync" in site.talosmith("status")


def test_conditions_are_those_of_the_operators(site: Site) -> None:
    assert site.conditions("clusterissuer", "internal-ca")["Ready"] == "True"
    for name in ("envoy-internal", "envoy-external"):
        assert site.conditions("gateway", name, "-n", "network")["Programmed"] == "True"
    pool = site.get("ciliumloadbalancerippools", "gateways")
    assert pool["apiVersion"] == "cilium.io/v2"


def test_an_api_of_another_server_is_available_and_keeps_no_namespace(site: Site) -> None:
    until(lambda: site.conditions("apiservice", "v1beta1.metrics.k8s.io"), lambda found: found["Available"] == "True")
    site.kubectl("create", "namespace", "short").check_returncode()
    site.kubectl("delete", "namespace", "short", "--timeout=2m").check_returncode()


def test_a_webhook_without_pods_refuses_at_once_and_answers_with_them(site: Site) -> None:
    hook = ("deployment/cert-manager-webhook", "-n", "cert-manager")

    def scale(replicas: int) -> None:
        site.kubectl("scale", *hook, f"--replicas={replicas}").check_returncode()

        def ready() -> int:
            status = site.get("deployment", "cert-manager-webhook", "-n", "cert-manager")["status"]
            return int(status.get("readyReplicas", 0))

        until(ready, lambda found: found == replicas)

    def applied() -> subprocess.CompletedProcess[str]:
        return site.kubectl("apply", "--server-side", "-f", "-", given=ISSUER)

    scale(0)
    try:
        refused = until(applied, lambda said: said.returncode != 0)
        assert 'failed calling webhook "webhook.cert-manager.io"' in refused.stderr
    finally:
        scale(1)
    until(applied, lambda said: said.returncode == 0)
    until(lambda: site.conditions("clusterissuer", "late"), lambda found: found.get("Ready") == "True")
    site.kubectl("delete", "clusterissuer", "late").check_returncode()
