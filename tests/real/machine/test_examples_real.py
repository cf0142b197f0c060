"""The configs of every example pass the real `talosctl validate --strict`; talosctl takes our talosconfig.

The talosctl is that of the Talos that the nodes run, or the oldest there is.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from talosmith import load
from talosmith.desired.bundle import Bundle
from talosmith.desired.machine import MachineConfigs
from talosmith.model.cluster import Cluster

EXAMPLES = Path(__file__).parents[3] / "examples"
NAMES = [
    "lab",
    "libvirt-ha",
    "proxmox",
    "proxmox-inventory",
    "homelab",
    "aws/sandbox",
    "aws/staging",
    "aws/production",
]
Peer = Callable[[str], Path]


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return Bundle.generate()


def talosctl_for(cluster: Cluster, peer: Peer) -> Path:
    return peer("talosctl" if cluster.talos_version.line >= (1, 14) else "talosctl-1.13")


@pytest.mark.parametrize("name", NAMES)
def test_talosctl_validates_the_examples(name: str, bundle: Bundle, peer: Peer, tmp_path: Path) -> None:
    configs = MachineConfigs(load(EXAMPLES / name), bundle, strict=True)
    talosctl = talosctl_for(configs.cluster, peer)

    def verdict(node_name: str, text: str) -> tuple[str, int, str]:
        file = tmp_path / f"{node_name}.yaml"
        file.write_text(text)
        done = subprocess.run(
            [talosctl, "validate", "--strict", "--config", file, "--mode", configs.mode],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return node_name, done.returncode, done.stderr

    with ThreadPoolExecutor(2) as pool:
        verdicts = list(pool.map(lambda item: verdict(item[0].name, item[1].text), configs))
    assert [verdict for verdict in verdicts if verdict[1]] == []


NETWORK = "network: {node_cidr: 10.0.0.0/24, vip: 10.0.0.100, dns_servers: [10.0.0.53], ntp_servers: [ntp.local]}\n"
VARIANTS = {
    "bond and VLAN": """
metal:
controlplane:
  {count: 3, disk: /dev/sda, vlan: 30, mtu: 9000, routes: [{to: 10.9.0.0/16, via: 10.0.0.2}],
   bond: {interfaces: [eno1, eno2], lacp_rate: fast, xmit_hash_policy: layer3+4, miimon: 100}}
""",
    "disks": """
metal:
controlplane:
  {count: 3, disk: SERIAL1, interface: eno1, encrypt_disk: true,
   volumes: [{name: data, disk: /dev/sdb, min_size: 10G, max_size: 50G}]}
""",
    "settings": """
libvirt: {}
controlplane: 3
workers: {count: 1, kernel_modules: [nvidia], labels: {a: b}, taints: ['gpu=yes:NoSchedule', 'x:NoExecute']}
talos: {sysctls: {a.b: "1"}, registry_mirrors: {docker.io: ["http://10.0.0.9:5000"]}, kubespan: true}
kubernetes: {cni: {name: custom, urls: ['https://example.org/cni.yaml']}, kube_proxy: false, dns_domain: k8s.local}
""",
}


KUBERNETES = {"v1.14.1": "v1.37.0"}  # 1.31, which the others can all run, is too old for it


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("talos", ["v1.8.4", "v1.10.9", "v1.11.6", "v1.12.11", "v1.13.9", "v1.14.1"])
def test_talosctl_validates_what_the_inventory_can_say(
    variant: str, talos: str, bundle: Bundle, peer: Peer, tmp_path: Path
) -> None:
    """Only what the real Talos takes: each variant, in the words of each version."""
    (tmp_path / "cluster.yaml").write_text(
        f"cluster_name: dev\ntalos_version: {talos}\nkubernetes_version: {KUBERNETES.get(talos, 'v1.31.4')}\n"
        + NETWORK
        + VARIANTS[variant]
    )
    configs = MachineConfigs(load(tmp_path), bundle)
    last = configs.cluster.nodes[-1]
    for node in {configs.cluster.nodes[0].name, last.name}:
        file = tmp_path / "config.yaml"
        file.write_text(configs.render(configs.cluster.node(node)).text)
        command = [talosctl_for(configs.cluster, peer), "validate", "--config", file, "--mode", configs.mode]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_talosctl_reads_our_talosconfig(bundle: Bundle, peer: Peer, tmp_path: Path) -> None:
    from datetime import timedelta

    from talosmith.desired.outputs import talosconfig_text

    file = tmp_path / "talosconfig"
    file.write_bytes(talosconfig_text(load(EXAMPLES / "lab"), bundle, ["os:reader"], timedelta(hours=12)))
    done = subprocess.run(
        [peer("talosctl"), "--talosconfig", file, "config", "info"], capture_output=True, text=True, check=True
    )
    assert "os:reader" in done.stdout and "127.181.0.10, 127.181.0.11, 127.181.0.12" in done.stdout
