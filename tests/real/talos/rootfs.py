"""The system folder that all nodes of one Talos version share, read-only: what its container image holds.

Disk tools, udev, kernel modules and iptables are left out: a node in container mode uses none of them.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.real.talos.releases import Release
from tools.peers import find

_FOLDERS = """
    boot dev etc/cni/net.d etc/containerd etc/cri/conf.d/hosts etc/iscsi etc/kubernetes/manifests etc/lvm etc/nvme
    etc/ssl/certs mnt opt/cni/bin opt/containerd/bin opt/containerd/lib proc root run sys system tmp usr/bin usr/etc
    usr/lib/modules usr/lib/firmware usr/lib/udev/rules.d usr/libexec/kubernetes usr/local/etc/cni
    usr/local/lib/kubelet/credentialproviders usr/local/lib/containers usr/local/share usr/share/spdx
    usr/share/zoneinfo/Etc var
"""
_LINKS = {
    "bin": "usr/bin",
    "sbin": "usr/bin",
    "usr/sbin": "bin",
    "lib": "usr/lib",
    "var/run": "/run",
    "usr/bin/poweroff": "init",
    "usr/bin/shutdown": "init",
    "usr/bin/reboot": "init",
    "usr/bin/dashboard": "init",
    "etc/ssl/certs/ca-certificates": "ca-certificates.crt",
    "etc/pki": "/etc/ssl",
    "etc/ca-certificates": "/etc/ssl",
}
_MOUNT_POINTS = """
    etc/extensions.yaml etc/hostname etc/hosts etc/machine-id etc/nfsmount.conf etc/resolv.conf
    etc/cri/conf.d/01-registries.part etc/cri/conf.d/20-customization.part etc/cri/conf.d/base-spec.json
    etc/cri/conf.d/cri.toml etc/iscsi/initiatorname.iscsi etc/nvme/hostid etc/nvme/hostnqn
    etc/ssl/certs/ca-certificates.crt etc/localtime
"""
_PROGRAMS = {
    "usr/bin/containerd": "containerd",
    "usr/bin/containerd-shim-runc-v2": "containerd-shim-runc-v2",
    "usr/bin/runc": "runc",
    "opt/cni/bin/bridge": "bridge",
    "opt/cni/bin/host-local": "host-local",
    "opt/cni/bin/loopback": "loopback",
    "opt/cni/bin/portmap": "portmap",
}
_SETTINGS = {
    "etc/containerd/config.toml": "containerd.toml",
    "etc/cri/containerd.toml": "cri-containerd.toml",
    "etc/cri/conf.d/00-base.part": "cri-plugin.part",
    "etc/os-release": "os-release",
}
# Talos 1.14 puts an empty folder of its own in the place of /etc/cni, in which its Flannel writes.
POD_NETWORKS = "usr/local/etc/cni"
_POD_NETWORKS_PART = f"""\
version = 3
[plugins."io.containerd.cri.v1.runtime".cni]
  conf_dir = "/{POD_NETWORKS}"
"""


def peers(release: Release) -> tuple[str, ...]:
    return (*_PROGRAMS.values(), *(f"{name}{release.ending}" for name in _SETTINGS.values()), release.machined)


def assemble(root: Path, release: Release) -> None:
    for folder in _FOLDERS.split():
        (root / folder).mkdir(parents=True)
    for link, target in _LINKS.items():
        (root / link).symlink_to(target)
    for name in _MOUNT_POINTS.split():
        (root / name).touch()
    settings = {name: f"{peer}{release.ending}" for name, peer in _SETTINGS.items()}
    for name, peer in (_PROGRAMS | settings).items():
        shutil.copy(find(peer), root / name)
    (root / "etc/cri/conf.d/10-pod-networks.part").write_text(_POD_NETWORKS_PART)
    (root / "usr/etc/in-container").write_text("true\n")
    # The only place where machined may be executable: below a folder that is the root of a node's namespaces alone.
    shutil.copy(find(release.machined), root / "usr/bin/init")
    (root / "usr/bin/init").chmod(0o755)
