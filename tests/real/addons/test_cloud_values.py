"""The values of add-ons for clouds, storage and operations, by the charts themselves.

No key is one that a chart ignores, and what a chart makes of the values is what the add-on is for. Charts that no Go
module carries are not here; their add-ons say so (`rendered_by_tests`).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from talosmith import Cluster
from talosmith.addons import addon
from talosmith.addons.addon import ClusterMark
from talosmith.desired.addon_checks import check_objects
from talosmith.helm import LocalChart, Release, Rendered, capabilities, render
from talosmith.model.values import SecretRef
from tests.real.helm.module_charts import LACKING, drop_dependency
from tests.unit.addons.cloud_inventories import ALL, CLOUD
from tests.unit.addons.network_inventories import made
from tools.peers import PeerUnavailable
from tools.peers.helm_recipes import CHARTS, find_chart

CHART_OF = {
    "aws-ccm": "aws-cloud-controller-manager",
    "aws-ebs-csi": "aws-ebs-csi-driver",
    "proxmox-ccm": "proxmox-cloud-controller-manager",
    "proxmox-csi": "proxmox-csi-plugin",
    "local-path-provisioner": "local-path-provisioner",
    "metrics-server": "metrics-server",
    "argo-cd": "argo-cd",
}
# Keys of the pinned charts that the older ones of the Go modules do not have yet.
NEWER = {("proxmox-ccm", ("dnsPolicy",))}
Keys = tuple[str, ...]


@pytest.fixture(scope="module")
def charts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of the charts, by add-on."""
    found: dict[str, Path] = {}
    for name, chart in CHART_OF.items():
        (module,) = (one for one in CHARTS if chart in one.names and "bitnami" not in one.module)
        try:
            found[name] = find_chart(module, chart)
        except PeerUnavailable as problem:
            pytest.skip(str(problem))
    whole = tmp_path_factory.mktemp("argo") / "argo-cd"
    shutil.copytree(found["argo-cd"], whole)
    drop_dependency(whole, LACKING["argo-cd"])
    return found | {"argo-cd": whole}


def _revealed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _revealed(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_revealed(inner) for inner in value]
    if isinstance(value, ClusterMark):
        return "home-0123456789abcdef"
    return "revealed" if isinstance(value, SecretRef) else value


def _values(cluster: Cluster, name: str) -> dict[str, Any]:
    return dict(_revealed(addon(name).values(cluster)))


def _rendered(cluster: Cluster, name: str, chart: Path, values: Mapping[str, Any]) -> Rendered:
    release = Release(name, cluster.addons[name].namespace)
    return render(LocalChart(chart), release, values, cluster=capabilities(str(cluster.kubernetes_version)))


def _texts(rendered: Rendered) -> list[str]:
    return [one.text for one in (*rendered.crds, *rendered.objects, *rendered.hooks)]


def _unknown(ours: dict[str, Any], theirs: dict[str, Any], path: Keys = ()) -> Iterator[Keys]:
    """Keys that the chart's values.yaml does not have. Where it has an empty mapping, any key is good."""
    for key, value in ours.items():
        here = (*path, key)
        if key not in theirs:
            yield here
        elif isinstance(value, dict) and isinstance(theirs[key], dict) and theirs[key]:
            yield from _unknown(value, theirs[key], here)


def _without(values: dict[str, Any], path: Keys) -> dict[str, Any]:
    found = deepcopy(values)
    below = found
    for key in path[:-1]:
        below = below[key]
    del below[path[-1]]
    return found


def test_every_chart_that_can_be_had_is_here() -> None:
    of_chart = {name for name in CLOUD if addon(name).chart is not None and addon(name).rendered_by_tests}
    assert of_chart == CHART_OF.keys()


@pytest.mark.parametrize("case", ALL)
def test_the_charts_know_every_key(case: str, charts: dict[str, Path], tmp_path: Path) -> None:
    """A key that values.yaml has in a comment alone has to change what is rendered."""
    cluster = made(tmp_path, ALL[case])
    for name in CHART_OF.keys() & cluster.addons.keys():
        ours = _values(cluster, name)
        theirs = yaml.safe_load((charts[name] / "values.yaml").read_text())
        rendered = _rendered(cluster, name, charts[name], ours)
        check_objects(name, cluster.addons[name].namespace, [one.content for one in rendered.objects])
        for path in _unknown(ours, theirs):
            if (name, path) not in NEWER:
                other = _rendered(cluster, name, charts[name], _without(ours, path))
                assert _texts(other) != _texts(rendered), f"{name} does not read {'.'.join(path)}"


def test_a_wrong_key_would_be_found(charts: dict[str, Path], tmp_path: Path) -> None:
    """`hostNetwork`, as most charts call it, is not what this chart reads."""
    cluster = made(tmp_path, ALL["aws"])
    wrong = _values(cluster, "aws-ccm") | {"hostNetwork": True}
    theirs = yaml.safe_load((charts["aws-ccm"] / "values.yaml").read_text())
    assert ("hostNetwork",) in set(_unknown(wrong, theirs))
    expected = _texts(_rendered(cluster, "aws-ccm", charts["aws-ccm"], wrong))
    assert _texts(_rendered(cluster, "aws-ccm", charts["aws-ccm"], _without(wrong, ("hostNetwork",)))) == expected


def _objects(case: str, name: str, charts: dict[str, Path], folder: Path) -> dict[tuple[str, str], Any]:
    cluster = made(folder, ALL[case])
    rendered = _rendered(cluster, name, charts[name], _values(cluster, name))
    return {(one.kind, one.name): one.content for one in rendered.objects}


def test_aws_ccm_is_on_the_host_network_of_control_planes(charts: dict[str, Path], tmp_path: Path) -> None:
    found = _objects("aws", "aws-ccm", charts, tmp_path)
    pod = found["DaemonSet", "aws-cloud-controller-manager"]["spec"]["template"]["spec"]
    assert pod["hostNetwork"] is True
    assert pod["nodeSelector"] == {"node-role.kubernetes.io/control-plane": ""}
    (container,) = pod["containers"]
    assert "--controllers=cloud-node-lifecycle,service" in container["args"]
    assert container["image"].endswith(":v1.36.1")


def test_ebs_has_one_encrypted_class_and_no_windows(charts: dict[str, Path], tmp_path: Path) -> None:
    found = _objects("aws", "aws-ebs-csi", charts, tmp_path)
    gp3 = found["StorageClass", "gp3"]
    assert gp3["parameters"] == {"type": "gp3", "encrypted": "true"}
    assert gp3["allowVolumeExpansion"] is True
    assert gp3["metadata"]["annotations"] == {"storageclass.kubernetes.io/is-default-class": "true"}
    assert not [name for kind, name in found if kind == "DaemonSet" and "windows" in name]
    controller = found["Deployment", "ebs-csi-controller"]["spec"]["template"]["spec"]
    (plugin,) = (one for one in controller["containers"] if one["name"] == "ebs-plugin")
    assert {"--k8s-tag-cluster-id=home-0123456789abcdef", "--extra-tags=team=platform"} <= {*plugin["args"]}
    assert {"name": "AWS_REGION", "value": "eu-central-1"} in plugin["env"]


def test_proxmox(charts: dict[str, Path], tmp_path: Path) -> None:
    ccm = _objects("proxmox", "proxmox-ccm", charts, tmp_path)
    pod = ccm["DaemonSet", "proxmox-cloud-controller-manager"]["spec"]["template"]["spec"]
    assert pod["hostNetwork"] is True
    csi = _objects("proxmox", "proxmox-csi", charts, tmp_path)
    assert csi["StorageClass", "proxmox"]["parameters"]["storage"] == "tank"
    assert ("Secret", "proxmox-csi-plugin") in csi
    assert "revealed" not in str({key: one for key, one in csi.items() if key[0] != "Secret"})


def test_local_paths(charts: dict[str, Path], tmp_path: Path) -> None:
    found = _objects("local", "local-path-provisioner", charts, tmp_path)
    (settings,) = (one for (kind, _), one in found.items() if kind == "ConfigMap")
    assert "/opt/" not in settings["data"]["config.json"]
    assert "/var/local-path-provisioner" in settings["data"]["config.json"]
    assert "busybox:1.37.0" in settings["data"]["helperPod.yaml"]
    annotations = found["StorageClass", "local-path"]["metadata"]["annotations"]
    assert annotations["storageclass.kubernetes.io/is-default-class"] == "true"


def test_metrics_server_verifies_kubelets(charts: dict[str, Path], tmp_path: Path) -> None:
    pod = _objects("aws", "metrics-server", charts, tmp_path)["Deployment", "metrics-server"]["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    assert "--kubelet-insecure-tls" not in container["args"]
    assert [one for one in container["args"] if one.startswith("--kubelet-preferred-address-types=InternalIP")]


def test_argo_cd_has_its_own_names_and_no_dex(charts: dict[str, Path], tmp_path: Path) -> None:
    names = {name for kind, name in _objects("local", "argo-cd", charts, tmp_path) if kind == "Deployment"}
    assert "argocd-server" in names
    assert not [name for name in names if "dex" in name]
