"""Charts of the catalogue, out of a real registry: Helm 4 and talosmith make the same objects of them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from talosmith.charts import Lock, images_of, render_chart, resolve
from talosmith.helm import Release, Store, capabilities, yaml_in
from talosmith.helm.manifests import split
from talosmith.model.cluster import ChartPin
from tests.real.charts.registry import Registry
from tests.real.helm.module_charts import published

CHARTS = (
    "cilium", "metrics-server", "external-dns", "cert-manager", "gateway-helm", "gateway-crds-helm", "spegel",
    "aws-ebs-csi-driver", "aws-cloud-controller-manager", "local-path-provisioner", "proxmox-csi-plugin",
    "proxmox-cloud-controller-manager", "argo-cd",
)  # fmt: skip
CASES: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    (Path(__file__).parents[1] / "helm" / "chart_cases.yaml").read_text()
)
VERSION = "v1.36.3"


@pytest.mark.parametrize("name", CHARTS)
def test_helm_and_talosmith_give_the_same_objects(
    name: str, reachable: Registry, helm: Path, store: Store, tmp_path: Path
) -> None:
    folder, version = published(name, tmp_path)
    reachable.push(reachable.package(folder, version), "quay.io/catalogue")
    pin = ChartPin(f"oci://quay.io/catalogue/{name}", version)
    contents, problems = resolve({name: pin}, Lock(), mirrors={"quay.io": reachable.mirror("quay.io")}, store=store)
    assert problems == []
    values = CASES[name][-1] or {}
    ours = render_chart(contents[name], Release(name, "apps"), values, cluster=capabilities(VERSION), store=store)
    assert ours.renderer == "talosmith"
    assert not ours.volatile
    theirs = by_helm(helm, reachable, name, version, values)
    found = [dict(one.content) for one in (*ours.crds, *ours.objects, *ours.hooks)]
    assert sorted(map(dumped, found)) == sorted(map(dumped, theirs))
    assert found
    has_pods = any("containers" in dumped(one) and one["kind"] != "CustomResourceDefinition" for one in found)
    assert bool(images_of(found)) == has_pods


def by_helm(helm: Path, registry: Registry, name: str, version: str, values: dict[str, Any]) -> list[Any]:
    environment = registry.environment
    result = subprocess.run(
        [helm, "template", name, f"oci://{registry.address}/quay.io/catalogue/{name}", "--version", version,
         "--namespace", "apps", "--include-crds", "--kube-version", VERSION, "--values", "-",
         "--ca-file", registry.ca_file, "--registry-config", environment["HELM_REGISTRY_CONFIG"]],
        input=json.dumps(values).encode(), capture_output=True, check=False, env={"HOME": str(registry.folder)},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr.decode()
    documents = (yaml_in.load(text, whole_numbers=True) for text in split(result.stdout.decode()))
    return [one for one in documents if one]


def dumped(one: Any) -> str:
    return json.dumps(one, sort_keys=True)
