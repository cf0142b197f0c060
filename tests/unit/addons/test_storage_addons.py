"""Add-ons with StorageClasses: where volumes are, and that one class alone is the default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talosmith import Cluster
from talosmith.desired.addon_secrets import Revealed
from talosmith.desired.machine.check import stand_in_bundle
from talosmith.desired.secrets_file import Secrets
from talosmith.model.machines import Owner
from talosmith.providers.aws.marks import Marks
from tests.unit.addons.cloud_inventories import AWS, LOCAL, NFS, NODES, OLD, PROXMOX, main_document
from tests.unit.addons.network_inventories import findings, made, values

DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}


def _class(cluster: Cluster, name: str) -> Any:
    own = values(cluster, name)
    return own["storageClasses"][0] if name == "aws-ebs-csi" else own["storageClass"]


def test_nfs(tmp_path: Path) -> None:
    cluster = made(tmp_path, NFS)
    assert cluster.addons["csi-driver-nfs"].reason == "nfs"
    assert values(cluster, "csi-driver-nfs") == {
        "controller": {"replicas": 1, "enableSnapshotter": False},
        "storageClass": {
            "create": True,
            "name": "nfs",
            "annotations": DEFAULT,
            "parameters": {
                "server": "nas.example.org",
                "share": "/export/k8s",
                "onDelete": "delete",
                "subDir": "home",
            },
            "reclaimPolicy": "Delete",
            "volumeBindingMode": "Immediate",
            "mountOptions": ["nfsvers=4.1"],
        },
    }


@pytest.mark.parametrize(
    ("nfs", "expected"),
    [
        ("", []),
        (", mount_options: [nfsvers=3, nolock]", []),
        (", mount_options: [nfsvers=3]", [("error", "NFS 3 with locks needs rpc.statd on the nodes")]),
    ],
)
def test_nfs_3_needs_locks_of_the_node(nfs: str, expected: list[tuple[str, str]], tmp_path: Path) -> None:
    text = NODES + f"libvirt: {{}}\nnfs: {{server: 10.0.0.9, share: /k8s{nfs}}}\n"
    assert [one for one in findings(tmp_path, text) if "NFS" in one[1]] == expected
    extension = "image: {extensions: [siderolabs/nfs-utils]}\n"
    assert not [one for one in findings(tmp_path, text + extension) if "NFS" in one[1]]


def test_the_driver_without_a_share_is_said(tmp_path: Path) -> None:
    said = findings(tmp_path, NODES + "libvirt: {}\naddons: {csi-driver-nfs: true}\n")
    assert ("warning", "csi-driver-nfs is installed without a StorageClass") in said


def test_ebs(tmp_path: Path) -> None:
    own = values(made(tmp_path, AWS), "aws-ebs-csi")
    (gp3,) = own["storageClasses"]
    assert gp3["parameters"] == {"type": "gp3", "encrypted": "true"}
    assert gp3["volumeBindingMode"] == "WaitForFirstConsumer"
    assert gp3["annotations"] == DEFAULT
    controller = own["controller"]
    assert controller["replicaCount"] == 2
    assert controller["region"] == "eu-central-1"
    assert controller["extraVolumeTags"] == {"team": "platform"}
    assert controller["nodeSelector"] == {"node-role.kubernetes.io/control-plane": ""}
    single = made(tmp_path, AWS.replace("count: 3", "count: 1"))
    assert values(single, "aws-ebs-csi")["controller"]["replicaCount"] == 1


def test_destroy_finds_the_volumes_of_ebs(tmp_path: Path) -> None:
    cluster = made(tmp_path, AWS)
    owner = Owner("home", "0123456789abcdef")
    reveal = Revealed(Secrets(stand_in_bundle()), owner.mark)
    marked = reveal(values(cluster, "aws-ebs-csi"))["controller"]["k8sTagClusterId"]
    assert f"kubernetes.io/cluster/{marked}" == Marks(owner, {}).kubernetes_tag


def test_proxmox(tmp_path: Path) -> None:
    cluster = made(tmp_path, PROXMOX)
    expected = {"name": "proxmox", "storage": "tank", "fstype": "ext4", "annotations": DEFAULT}
    assert values(cluster, "proxmox-csi")["storageClass"] == [expected]
    assert cluster.addons["proxmox-csi"].namespace == "csi-proxmox"


@pytest.mark.parametrize("header", ["", OLD])
def test_local_paths_are_below_var_and_in_the_kubelets_container(header: str, tmp_path: Path) -> None:
    cluster = made(tmp_path, LOCAL, header) if header else made(tmp_path, LOCAL)
    (everywhere,) = values(cluster, "local-path-provisioner")["nodePathMap"]
    assert everywhere["node"] == "DEFAULT_PATH_FOR_NON_LISTED_NODES"
    (path,) = everywhere["paths"]
    assert path.startswith("/var/")
    for node in ("cp-1", "w-1"):
        (mount,) = main_document(cluster, node)["machine"]["kubelet"]["extraMounts"]
        assert mount["source"] == mount["destination"] == path
        assert "rshared" in mount["options"]


def test_local_paths_on_a_disk_of_their_own(tmp_path: Path) -> None:
    nodes = NODES.replace(
        "workers: 1",
        "workers: {count: 2, extra_disks: [50G], volumes: [{name: local-path-provisioner, disk: /dev/vdb}]}",
    )
    cluster = made(tmp_path, nodes + "libvirt: {}\naddons: {local-path-provisioner: true}\n")
    listed = {one["node"]: one["paths"] for one in values(cluster, "local-path-provisioner")["nodePathMap"]}
    assert listed["w-1"] == listed["w-2"] == ["/var/mnt/local-path-provisioner"]
    assert "cp-1" not in listed
    main_document(cluster, "w-1")


@pytest.mark.parametrize(
    ("text", "default"),
    [
        (AWS + "nfs: {server: 10.0.0.9, share: /k8s}\n", "csi-driver-nfs"),
        (AWS + "nfs: {server: 10.0.0.9, share: /k8s, default: false}\n", "aws-ebs-csi"),
        (AWS.replace("addons: {", "addons: {local-path-provisioner: true, "), "aws-ebs-csi"),
        (PROXMOX.replace("addons: {", "addons: {local-path-provisioner: true, "), "proxmox-csi"),
        (NFS.replace("sub_dir: home", "default: false") + "addons: {local-path-provisioner: true}\n", None),
        (LOCAL, None),
    ],
)
def test_one_class_is_the_default(text: str, default: str | None, tmp_path: Path) -> None:
    cluster = made(tmp_path, text)
    names = {"csi-driver-nfs", "aws-ebs-csi", "proxmox-csi"} & cluster.addons.keys()
    found = set()
    for name in names:
        one = _class(cluster, name)
        found |= {name} if (one[0] if isinstance(one, list) else one)["annotations"] == DEFAULT else set()
    assert found == ({default} if default else set())
    if "local-path-provisioner" in cluster.addons:
        assert _class(cluster, "local-path-provisioner")["defaultClass"] is (default is None)
