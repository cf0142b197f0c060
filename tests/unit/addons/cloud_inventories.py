"""Inventories that the add-ons for clouds, storage and operations are tested with."""

from __future__ import annotations

from typing import Any

from talosmith import Cluster
from talosmith.addons import addon
from talosmith.addons.addon import Document, MachineNeeds
from talosmith.desired.machine import MachineConfigs
from talosmith.desired.machine.check import stand_in_bundle

OLD = "cluster_name: home\ntalos_version: v1.8.2\nkubernetes_version: v1.30.1\n"
AGE = "age1mgfh3ce8kvqdvt97g3nj7rwscrwjhm0kvwf4nqv2d2qqjnl9aaqs5u5jlp"

AWS_NODES = "controlplane: {count: 3, disk: 50G}\nworkers: {count: 2, disk: 50G}\n"
AWS = (
    AWS_NODES + "aws: {region: eu-central-1, azs: [eu-central-1a], tags: {team: platform},"
    " iam: {controlplane: [cloud-controller, ebs-csi], workers: []}}\n"
    "addons: {aws-ccm: true, aws-ebs-csi: true, metrics-server: true}\n"
)
NODES = "network: {node_cidr: 10.0.0.0/24, vip: 10.0.0.100}\ncontrolplane: 3\nworkers: 1\n"
ACCESS = "url: 'https://10.0.0.5:8006', token_id: talosmith@pve!cluster, token_secret: 'sops:proxmox.token'"
PROXMOX = NODES + f"proxmox: {{node: pve1, datastore: tank, {ACCESS}}}\naddons: {{proxmox-csi: true}}\n"
NFS = NODES + "libvirt: {}\nnfs: {server: nas.example.org, share: /export/k8s, sub_dir: home}\n"
LOCAL = NODES + "libvirt: {}\naddons: {local-path-provisioner: true, reloader: true, argo-cd: true}\n"
BACKUP = (
    "backup: {etcd: {endpoint: 'https://s3.example.org', bucket: talos-backup, access_key: 'sops:backup.access',"
    f" secret_key: 'sops:backup.secret', age_public_key: {AGE}}}}}\n"
)
SSH = "repository: {url: 'ssh://git@github.com/example/home.git', deploy_key: 'sops:repository.key'}\n"
OPS = NODES + "libvirt: {}\n" + BACKUP + SSH + "addons: {tuppr: true, flux-instance: true}\n"

ALL = {"aws": AWS, "proxmox": PROXMOX, "nfs": NFS, "local": LOCAL, "ops": OPS}
CLOUD = {
    "talos-ccm",
    "aws-ccm",
    "aws-ebs-csi",
    "proxmox-ccm",
    "proxmox-csi",
    "csi-driver-nfs",
    "local-path-provisioner",
    "metrics-server",
    "reloader",
    "talos-backup",
    "tuppr",
    "flux-operator",
    "flux-instance",
    "argo-cd",
}


def needs(cluster: Cluster, name: str) -> MachineNeeds:
    return addon(name).machine(cluster)


def main_document(cluster: Cluster, node: str) -> Document:
    """Of a node's machine config, which is valid: rendering it raises otherwise."""
    documents = MachineConfigs(cluster, stand_in_bundle()).render(cluster.node(node)).documents
    return next(dict(one) for one in documents if "kind" not in one)


def by_kind(objects: Any) -> dict[str, Any]:
    return {one["kind"]: one for one in objects}
