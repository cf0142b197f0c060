"""Add-ons for running a cluster: backups, upgrades, GitOps, metrics."""

from __future__ import annotations

from pathlib import Path

import pytest

from talosmith.addons import addon
from talosmith.model.values import SecretRef
from tests.unit.addons.cloud_inventories import BACKUP, LOCAL, NODES, OPS, SSH, by_kind, main_document
from tests.unit.addons.network_inventories import findings, made, values

BASE = NODES + "libvirt: {}\n"


def test_a_backup_on_schedule(tmp_path: Path) -> None:
    cluster = made(tmp_path, OPS.replace("age_public_key", "schedule: '0 */6 * * *', age_public_key"))
    assert cluster.addons["talos-backup"].reason == "backup.etcd"
    found = by_kind(addon("talos-backup").objects(cluster))
    assert found["ServiceAccount"]["apiVersion"] == "talos.dev/v1alpha1"
    assert found["ServiceAccount"]["spec"] == {"roles": ["os:etcd:backup"]}
    assert found["Secret"]["stringData"] == {
        "AWS_ACCESS_KEY_ID": SecretRef("sops", "backup.access"),
        "AWS_SECRET_ACCESS_KEY": SecretRef("sops", "backup.secret"),
    }
    job = found["CronJob"]["spec"]
    assert job["schedule"] == "0 */6 * * *"
    pod = job["jobTemplate"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    environment = {one["name"]: one["value"] for one in container["env"]}
    assert environment["CUSTOM_S3_ENDPOINT"] == "https://s3.example.org"
    assert environment["BUCKET"] == "talos-backup"
    assert environment["CLUSTER_NAME"] == "home"
    assert environment["AGE_X25519_PUBLIC_KEY"].startswith("age1")
    assert environment["USE_PATH_STYLE"] == "false"  # which this release takes as: on
    assert container["envFrom"] == [{"secretRef": {"name": found["Secret"]["metadata"]["name"]}}]
    assert ":latest" not in container["image"]
    mounted = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    (access,) = (one for one in pod["volumes"] if "secret" in one)
    assert access["secret"]["secretName"] == found["ServiceAccount"]["metadata"]["name"]
    assert mounted[access["name"]] == "/var/run/secrets/talos.dev"


def test_roles_and_namespaces_of_the_talos_api(tmp_path: Path) -> None:
    cluster = made(tmp_path, OPS.replace("tuppr: true", "tuppr: true, talos-ccm: true"))
    assert main_document(cluster, "cp-1")["machine"]["features"]["kubernetesTalosAPIAccess"] == {
        "enabled": True,
        "allowedRoles": ["os:admin", "os:etcd:backup", "os:reader"],
        "allowedKubernetesNamespaces": ["kube-system", "system-upgrade", "talos-backup"],
    }
    assert "kubernetesTalosAPIAccess" not in main_document(cluster, "w-1")["machine"]["features"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BASE + BACKUP, []),
        (BASE + "addons: {talos-backup: true}\n", ["talos-backup needs `backup.etcd`"]),
        (
            BASE + BACKUP.replace("age1mgfh3", f"age1pq1{'q' * 40}"),
            ["talos-backup cannot encrypt for a post-quantum age key (age1pq1…)"],
        ),
    ],
)
def test_what_a_backup_needs(text: str, expected: list[str], tmp_path: Path) -> None:
    assert [what for severity, what in findings(tmp_path, text) if severity == "error"] == expected


def test_tuppr_upgrades_to_the_inventorys_versions(tmp_path: Path) -> None:
    found = by_kind(addon("tuppr").config(made(tmp_path, OPS)))
    assert found["TalosUpgrade"]["spec"] == {"talos": {"version": "v1.13.9"}}
    assert found["KubernetesUpgrade"]["spec"] == {"kubernetes": {"version": "v1.36.3"}}
    assert {one["apiVersion"] for one in found.values()} == {"tuppr.home-operations.com/v1alpha1"}
    assert any("reboots nodes by itself" in what for _, what in findings(tmp_path, OPS))


def _sync(tmp_path: Path, text: str) -> object:
    return values(made(tmp_path, BASE + text + "addons: {flux-instance: true}\n"), "flux-instance")["instance"][
        "sync"
    ]


def test_flux_follows_the_repository(tmp_path: Path) -> None:
    assert _sync(tmp_path, SSH) == {
        "kind": "GitRepository",
        "url": "ssh://git@github.com/example/home.git",
        "ref": "refs/heads/main",
        "path": "kubernetes",
        "pullSecret": "deploy-key",
    }
    https = "repository: {url: 'https://git.example.org/home', branch: prod, visibility: public}\n"
    assert _sync(tmp_path, https + "gitops: {path: clusters/home, interval: 5m}\n") == {
        "kind": "GitRepository",
        "url": "https://git.example.org/home",
        "ref": "refs/heads/prod",
        "path": "clusters/home",
        "interval": "5m",
    }
    cluster = made(tmp_path, BASE + https + "addons: {flux-instance: true}\n")
    assert addon("flux-instance").objects(cluster) == ()
    assert cluster.addons["flux-operator"].reason == "addon flux-instance"
    assert cluster.addons["flux-instance"].after == ("flux-operator",)


def test_the_deploy_key_of_flux(tmp_path: Path) -> None:
    (key,) = addon("flux-instance").objects(made(tmp_path, OPS))
    assert key["metadata"] == {"name": "deploy-key", "namespace": "flux-system"}
    assert key["stringData"]["identity"] == SecretRef("sops", "repository.key")
    assert key["stringData"]["known_hosts"].startswith("github.com ssh-ed25519 AAAA")
    own = OPS.replace("github.com/", "git.example.org/").replace(
        "deploy_key:", "known_hosts: 'git.example.org ssh-ed25519 AAAAC3Nz', deploy_key:"
    )
    (key,) = addon("flux-instance").objects(made(tmp_path, own))
    assert key["stringData"]["known_hosts"] == "git.example.org ssh-ed25519 AAAAC3Nz"


@pytest.mark.parametrize(
    ("repository", "expected"),
    [
        (SSH, []),
        ("", [("error", "flux-instance needs a `repository` to follow")]),
        (
            "repository: {url: 'ssh://git@github.com/example/home.git'}\n",
            [("error", "a repository over ssh needs `repository.deploy_key`")],
        ),
        (
            "repository: {url: 'https://git.example.org/home'}\n",
            [("warning", "Flux reads the repository without credentials, which a private one refuses")],
        ),
        ("repository: {url: 'https://git.example.org/home', visibility: public}\n", []),
    ],
)
def test_what_flux_needs(repository: str, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    said = findings(tmp_path, BASE + repository + "addons: {flux-instance: true}\n")
    assert [one for one in said if "repository" in one[1]] == expected


@pytest.mark.parametrize(
    ("talos", "kubernetes", "flux"),
    [("v1.13.9", "v1.36.3", "2.9.x"), ("v1.8.2", "v1.30.1", "2.8.x"), ("v1.8.2", "v1.26.0", "2.5.x")],
)
def test_flux_fits_kubernetes(talos: str, kubernetes: str, flux: str, tmp_path: Path) -> None:
    header = f"cluster_name: home\ntalos_version: {talos}\nkubernetes_version: {kubernetes}\n"
    cluster = made(tmp_path, OPS, header)
    assert values(cluster, "flux-instance")["instance"]["distribution"] == {"version": flux}


def test_argo_cd_without_dex_and_ingress(tmp_path: Path) -> None:
    own = values(made(tmp_path, LOCAL), "argo-cd")
    assert own["dex"] == {"enabled": False}
    assert own["server"]["ingress"] == {"enabled": False}
    assert "global" not in own
    assert values(made(tmp_path, LOCAL + "domain: example.org\n"), "argo-cd")["global"] == {
        "domain": "argocd.example.org"
    }


def test_metrics_server_verifies_kubelets_where_their_certificates_are_approved(tmp_path: Path) -> None:
    cluster = made(tmp_path, BASE + "addons: {metrics-server: true}\n")
    assert values(cluster, "metrics-server") == {"replicas": 2, "args": []}
    assert cluster.addons["metrics-server"].after == ("talos-ccm",)
    without = BASE + "addons: {metrics-server: true, talos-ccm: false}\n"
    assert values(made(tmp_path, without), "metrics-server")["args"] == ["--kubelet-insecure-tls"]
    assert any("--kubelet-insecure-tls" in what for _, what in findings(tmp_path, without))
    assert "extraArgs" not in main_document(made(tmp_path, without), "w-1")["machine"]["kubelet"]
