"""Add-ons of clouds: who initialises nodes, with which credentials, and what the inventory has to say for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from talosmith import Cluster
from talosmith.addons import addon
from talosmith.addons.addon import ClusterMark
from talosmith.desired.addon_checks import check_objects
from talosmith.inventory import check
from talosmith.model.values import SecretRef
from tests.unit.addons.cloud_inventories import (
    ACCESS,
    ALL,
    AWS,
    AWS_NODES,
    CLOUD,
    NODES,
    OLD,
    PROXMOX,
    main_document,
    needs,
)
from tests.unit.addons.network_inventories import findings, made, values, written

EXAMPLES = Path(__file__).parents[3] / "examples"
EXTERNAL = {"enabled": True}
SERVING = {"rotate-server-certificates": "true"}


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, inner in value.items():
            assert isinstance(key, str)
            yield from _leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield value


def _check_all(cluster: Cluster) -> set[str]:
    for name in CLOUD & cluster.addons.keys():
        known, namespace = addon(name), cluster.addons[name].namespace
        first, again = ((known.values(cluster), [*known.objects(cluster)], [*known.config(cluster)]) for _ in "12")
        assert first == again
        assert all(isinstance(leaf, str | int | bool | SecretRef | ClusterMark) for leaf in _leaves(first))
        assert "sops:" not in str([leaf for leaf in _leaves(first) if isinstance(leaf, str)])
        check_objects(name, namespace, [*first[1], *first[2]])
    for node in cluster.nodes:
        main_document(cluster, node.name)
    return CLOUD & cluster.addons.keys()


def test_each_is_pure_with_secrets_as_references_and_valid_machine_configs(tmp_path: Path) -> None:
    seen: set[str] = set()
    for text in ALL.values():
        seen |= _check_all(made(tmp_path, text))
    assert seen == CLOUD


@pytest.mark.parametrize("case", ["proxmox", "nfs", "local", "ops"])
def test_they_fit_talos_1_8_with_kubernetes_1_30(case: str, tmp_path: Path) -> None:
    cluster = made(tmp_path, ALL[case], OLD)
    _check_all(cluster)
    problems = check(written(tmp_path, ALL[case], OLD)).problems
    assert not [one.what for one in problems if "supports Kubernetes" in one.what]
    pins = {name: one.chart.version for name, one in cluster.addons.items() if one.chart is not None}
    if case == "local":
        assert pins["argo-cd"] == "8.0.17"


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        ("aws/sandbox", {"aws-ccm", "aws-ebs-csi", "metrics-server", "talos-ccm"}),
        ("proxmox", {"cilium"}),
        ("proxmox-inventory", {"cilium", "local-path-provisioner", "metrics-server", "argo-cd", "talos-ccm"}),
        ("libvirt-ha", {"csi-driver-nfs"}),
    ],
)
def test_the_examples_have_add_ons_that_fit(example: str, expected: set[str]) -> None:
    report = check(EXAMPLES / example / "cluster.yaml")
    assert report.cluster.addons.keys() == expected
    assert not [one.what for one in report.problems if "supports Kubernetes" in one.what]
    _check_all(report.cluster)


def test_talos_ccm_alone_only_approves_certificates(tmp_path: Path) -> None:
    cluster = made(tmp_path, NODES + "libvirt: {}\naddons: {metrics-server: true}\n")
    assert cluster.addons["talos-ccm"].reason == "addon metrics-server"
    own = values(cluster, "talos-ccm")
    assert own["enabledControllers"] == ["node-csr-approval"]
    assert own["daemonSet"] == {"enabled": True}
    main = main_document(cluster, "cp-1")
    assert main["machine"]["kubelet"]["extraArgs"] == SERVING
    assert main["machine"]["features"]["kubernetesTalosAPIAccess"] == {
        "enabled": True,
        "allowedRoles": ["os:reader"],
        "allowedKubernetesNamespaces": ["kube-system"],
    }
    assert "externalCloudProvider" not in main["cluster"]
    worker = main_document(cluster, "w-1")
    assert worker["machine"]["kubelet"]["extraArgs"] == SERVING
    assert "kubernetesTalosAPIAccess" not in worker["machine"]["features"]  # Talos refuses it on workers


def test_the_api_access_is_for_the_namespace_that_the_user_chose(tmp_path: Path) -> None:
    cluster = made(tmp_path, NODES + "libvirt: {}\naddons: {talos-ccm: {namespace: cloud}}\n")
    access = main_document(cluster, "cp-1")["machine"]["features"]["kubernetesTalosAPIAccess"]
    assert access["allowedKubernetesNamespaces"] == ["cloud"]


def test_talos_ccm_initialises_nodes_for_aws_ccm(tmp_path: Path) -> None:
    cluster = made(tmp_path, AWS)
    assert values(cluster, "talos-ccm")["enabledControllers"] == ["cloud-node", "node-csr-approval"]
    (controllers,) = (one for one in values(cluster, "aws-ccm")["args"] if one.startswith("--controllers="))
    assert controllers == "--controllers=cloud-node-lifecycle,service"
    for node in ("cp-1", "w-1"):
        assert main_document(cluster, node)["cluster"]["externalCloudProvider"] == EXTERNAL
    assert cluster.addons["aws-ccm"].after == ("talos-ccm",)
    assert {cluster.addons[name].stage for name in ("talos-ccm", "aws-ccm")} == {"cloud"}


def test_the_users_controllers_of_talos_ccm_count(tmp_path: Path) -> None:
    own = "addons: {talos-ccm: {values: {enabledControllers: [cloud-node]}}}\n"
    cluster = made(tmp_path, NODES + "libvirt: {}\n" + own)
    assert main_document(cluster, "w-1")["cluster"]["externalCloudProvider"] == EXTERNAL


@pytest.mark.parametrize(
    ("talos", "kubernetes", "image"),
    [("v1.13.9", "v1.36.3", "v1.36.1"), ("v1.9.5", "v1.30.1", "v1.30.10"), ("v1.8.2", "v1.28.3", "v1.29.10")],
)
def test_aws_ccm_is_of_the_clusters_kubernetes(talos: str, kubernetes: str, image: str, tmp_path: Path) -> None:
    header = f"cluster_name: home\ntalos_version: {talos}\nkubernetes_version: {kubernetes}\n"
    assert values(made(tmp_path, AWS, header), "aws-ccm")["image"] == {"tag": image}


def test_aws_ccm_runs_before_the_network_is_up(tmp_path: Path) -> None:
    own = values(made(tmp_path, AWS), "aws-ccm")
    assert own["hostNetworking"] is True
    tolerated = {one["key"] for one in own["tolerations"]}
    assert {"node.kubernetes.io/not-ready", "node.cloudprovider.kubernetes.io/uninitialized"} <= tolerated


def _aws(iam: str, addons: str, more: str = "") -> str:
    return AWS_NODES + f"aws: {{region: eu-central-1, azs: [eu-central-1a]{iam}{more}}}\naddons: {{{addons}}}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (_aws("", "aws-ccm: true"), "the role of control planes lacks the policy `cloud-controller`"),
        (
            _aws(", iam: {workers: [cloud-controller]}", "aws-ccm: true"),
            "the role of control planes lacks the policy `cloud-controller`",
        ),
        (_aws(", iam: [cloud-controller]", "aws-ccm: true"), None),
        (_aws(", iam: ['arn:aws:iam::123456789012:policy/ccm']", "aws-ccm: true"), None),
        (
            _aws(", iam: [cloud-controller]", "aws-ccm: true, talos-ccm: false"),
            "aws-ccm needs talos-ccm, which is switched off",
        ),
        (
            _aws(", iam: [cloud-controller]", "aws-ebs-csi: true"),
            "the role of control planes lacks the policy `ebs-csi`",
        ),
        (_aws(", iam: [ebs-csi]", "aws-ebs-csi: true"), None),
        (
            _aws(", iam: [ebs-csi]", "aws-ebs-csi: true", ", metadata_hop_limit: 1"),
            "pods do not reach the instance metadata with a hop limit of 1",
        ),
        (NODES + "libvirt: {}\naddons: {aws-ccm: true}\n", "aws-ccm needs the provider aws, not libvirt"),
        (NODES + "libvirt: {}\naddons: {aws-ebs-csi: true}\n", "aws-ebs-csi needs the provider aws, not libvirt"),
    ],
)
def test_what_aws_has_to_allow(text: str, expected: str | None, tmp_path: Path) -> None:
    assert [what for severity, what in findings(tmp_path, text) if severity == "error"] == (
        [expected] if expected else []
    )


def test_pods_get_the_access_of_the_inventory_to_proxmox(tmp_path: Path) -> None:
    cluster = made(tmp_path, PROXMOX)
    for name in ("proxmox-ccm", "proxmox-csi"):
        (access,) = values(cluster, name)["config"]["clusters"]
        assert access == {
            "url": "https://10.0.0.5:8006/api2/json",
            "insecure": False,
            "token_id": "talosmith@pve!cluster",
            "token_secret": SecretRef("sops", "proxmox.token"),
            "region": "pve",
        }
    assert cluster.addons["proxmox-ccm"].reason == "addon proxmox-csi"
    assert cluster.addons["proxmox-csi"].after == ("proxmox-ccm",)
    for node in ("cp-1", "w-1"):
        assert main_document(cluster, node)["cluster"]["externalCloudProvider"] == EXTERNAL
    assert needs(cluster, "proxmox-csi").all_nodes == ()


def _proxmox(section: str, addons: str) -> str:
    return NODES + f"proxmox: {{node: pve1, {section}}}\naddons: {{{addons}}}\n"


OWN = "values: {config: {clusters: [{url: 'https://pve', token_id: a@pve!b, token_secret: 'sops:x', region: pve}]}}"
TOKEN = "proxmox-ccm stores the API token of talosmith (talosmith@pve!cluster) in a Secret of the cluster"
UNTRUSTED = "proxmox-ccm does not trust the certificate of Proxmox (x509: certificate signed by unknown authority)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (_proxmox(ACCESS, "proxmox-ccm: true"), [("warning", TOKEN)]),
        (_proxmox(ACCESS, f"proxmox-ccm: {{{OWN}}}"), []),
        (_proxmox("datastore: tank", f"proxmox-ccm: {{{OWN}}}"), []),
        (_proxmox(ACCESS, "proxmox-ccm: {values: {existingConfigSecret: pve}}"), []),
        (
            _proxmox("datastore: tank", "proxmox-ccm: true"),
            [("error", "proxmox-ccm needs `proxmox.url` and `proxmox.token_id` and `proxmox.token_secret`")],
        ),
        (
            _proxmox(f"{ACCESS}, fingerprint: {'ab' * 32}", "proxmox-ccm: true"),
            [
                ("warning", TOKEN),
                ("warning", "proxmox-ccm does not verify the certificate of Proxmox (insecure: true)"),
            ],
        ),
        (_proxmox(f"{ACCESS}, ca: ./ca.pem", "proxmox-ccm: true"), [("error", UNTRUSTED), ("warning", TOKEN)]),
        (
            NODES + "libvirt: {}\naddons: {proxmox-ccm: true}\n",
            [("error", "proxmox-ccm needs the provider proxmox, not libvirt")],
        ),
        (
            _proxmox(ACCESS, f"proxmox-csi: {{{OWN}}}, proxmox-ccm: false"),
            [("error", "proxmox-csi needs proxmox-ccm, which is switched off")],
        ),
    ],
)
def test_what_proxmox_has_to_allow(text: str, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("")
    assert [one for one in findings(tmp_path, text) if "proxmox-c" in one[1]] == expected
