"""What follows from an inventory: names, addresses, MACs, VMIDs, endpoints, and that they stay as they are."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from talosmith import Cluster, load
from talosmith.inventory import check
from talosmith.inventory.layouts.lab import lab_network_of
from talosmith.inventory.layouts.proxmox import vmid_of
from talosmith.inventory.numbers import mac_of, number_of
from talosmith.model.cluster import ENDPOINT_TO_COME
from talosmith.model.providers.aws import Aws, zone_subnet

HEADER = "cluster_name: dev\ntalos_version: v1.13.9\nkubernetes_version: v1.36.3\n"
Make = Callable[[str], Cluster]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def from_text(text: str) -> Cluster:
        (tmp_path / "cluster.yaml").write_text(HEADER + text)
        return load(tmp_path)

    return from_text


def test_offsets_and_numbers_give_addresses_and_macs(make: Make) -> None:
    cluster = make(
        "network: {node_cidr: 10.0.0.0/24, cp_ip_offset: 70, worker_ip_offset: 80, vip: 10.0.0.100}\n"
        "libvirt: {}\ncontrolplane: {count: 3, name_prefix: talos-cp-}\nworkers: 2\n"
    )
    assert [(node.name, str(node.ip), node.mac) for node in cluster.nodes] == [
        ("talos-cp-1", "10.0.0.70", "52:54:00:c1:00:01"),
        ("talos-cp-2", "10.0.0.71", "52:54:00:c1:00:02"),
        ("talos-cp-3", "10.0.0.72", "52:54:00:c1:00:03"),
        ("w-1", "10.0.0.80", "52:54:00:c2:00:01"),
        ("w-2", "10.0.0.81", "52:54:00:c2:00:02"),
    ]
    assert cluster.endpoint.url == "https://10.0.0.100:6443"
    assert str(cluster.network.gateway) == "10.0.0.1"
    assert cluster.network.addressing == "static"


def test_the_mac_index_is_the_fifth_byte(make: Make) -> None:
    cluster = make("mac_index: 7\ncontrolplane: 1\nworkers: 1\n")
    assert [node.mac for node in cluster.nodes] == ["52:54:00:c1:07:01", "52:54:00:c2:07:01"]


def test_numbers_beyond_a_byte_go_on_in_the_third() -> None:
    assert mac_of("w-255", "worker", 3) == "52:54:00:c2:03:ff"
    assert mac_of("w-256", "worker", 3) == "52:54:01:c2:03:00"
    assert len({mac_of(f"w-{number}", "worker", 0) for number in range(1, 20_000)}) == 19_999


@pytest.mark.parametrize(
    ("name", "number"), [("cp-01", 1), ("w12", 12), ("cp-0", None), ("alpha", None), ("n-99999", None)]
)
def test_the_number_is_the_one_the_name_ends_in(name: str, number: int | None) -> None:
    assert number_of(name) == number


def test_vmids(make: Make) -> None:
    cluster = make(
        "network: {node_cidr: 10.0.0.0/24}\nproxmox: {node: pve}\ncontrolplane:\n  - name: talos-cp-01\n"
        "workers:\n  - name: talos-w-01\n  - {name: talos-w-02, vmid: 5000}\n"
    )
    assert [node.vmid for node in cluster.nodes] == [2000, 3000, 5000]
    assert vmid_of("alpha", 2000) == vmid_of("alpha", 2000) != vmid_of("beta", 2000)


def test_machines_are_spread_over_the_hosts_by_their_numbers(make: Make) -> None:
    provider = "network: {node_cidr: 10.0.0.0/24, vip: 10.0.0.5}\nproxmox: {hosts: [a, b, c]}\ncontrolplane: 3\n"
    cluster = make(provider + "workers: {count: 5, overrides: {w-2: {host: a}}}\n")
    assert [node.host for node in cluster.controlplanes] == ["a", "b", "c"]
    assert [node.host for node in cluster.workers] == ["a", "a", "c", "a", "b"]
    named = "workers:\n  - {name: gpu, ip: 10.0.0.50}\n"
    alone, among = make(provider + named), make(provider + named + "  - {name: w-1}\n  - {name: w-8}\n")
    assert alone.node("gpu").host == among.node("gpu").host in ("a", "b", "c")
    assert [among.node(name).host for name in ("w-1", "w-8")] == ["a", "b"]
    spread = {make(provider + named.replace("gpu", name)).node(name).host for name in ("gpu", "nas", "tpu", "db")}
    assert len(spread) > 1


def test_one_host_runs_all_machines_and_a_role_may_have_its_own(make: Make) -> None:
    network = "network: {node_cidr: 10.0.0.0/24}\n"
    cluster = make(network + "proxmox: {node: pve}\ncontrolplane: 1\nworkers: 2\n")
    assert {node.host for node in cluster.nodes} == {"pve"}
    cluster = make(network + "proxmox: {hosts: [a, b]}\ncontrolplane: 1\nworkers: {count: 3, host: b}\n")
    assert [node.host for node in cluster.nodes] == ["a", "b", "b", "b"]


@pytest.mark.parametrize(
    ("block", "source"),
    [
        ("proxmox: {node: pve}", "from proxmox.node"),
        ("proxmox: {hosts: [pve]}", "derived: proxmox.hosts in turn, by the number in the name"),
    ],
)
def test_the_origin_of_a_host(block: str, source: str, tmp_path: Path) -> None:
    text = f"network: {{node_cidr: 10.0.0.0/24}}\n{block}\ncontrolplane: 1\nworkers: {{count: 1, host: pve}}\n"
    (tmp_path / "cluster.yaml").write_text(HEADER + text)
    found = {origin.name: (origin.value, origin.source) for origin in check(tmp_path).origins()}
    assert found["nodes.cp-1.host"] == ("pve", source)
    assert found["nodes.w-1.host"][1].endswith("cluster.yaml:7")


def test_the_file_of_a_ca_is_relative_to_the_inventory_that_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    base = "network: {node_cidr: 10.0.0.0/24}\nproxmox: {node: pve, ca: certs/ca.pem}\ncontrolplane: 1\n"
    texts = {
        "base": HEADER + base,
        "same": "extends: ../base\n",
        "own": "extends: ../base\nproxmox: {ca: ../ca.pem}\n",
        "fixed": "extends: ../base\nproxmox: {ca: /etc/ca.pem}\n",
        "mine": "extends: ../base\nproxmox: {ca: ~/ca.pem}\n",
    }
    for name, text in texts.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "cluster.yaml").write_text(text)
    monkeypatch.chdir(tmp_path / "own")
    found = {name: getattr(load(Path("..") / name).provider, "ca", None) for name in texts}
    base_file = str(tmp_path / "base" / "certs" / "ca.pem")
    assert found == {
        "base": base_file,
        "same": base_file,
        "own": str(tmp_path / "ca.pem"),
        "fixed": "/etc/ca.pem",
        "mine": str(tmp_path / "home" / "ca.pem"),
    }


def test_a_role_and_a_node_speak_in_that_order(make: Make) -> None:
    cluster = make(
        "controlplane: 1\nworkers:\n  count: 2\n  cpu: 8\n  ram: 16G\n  labels: {zone: a}\n  overrides:\n"
        "    w-2: {ram: 32G, labels: {gpu: 'yes'}, ip: 127.31.0.99}\n"
    )
    first, second = cluster.workers
    assert (first.cpu, first.ram_mib, first.labels) == (8, 16384, {"zone": "a"})
    assert (second.cpu, second.ram_mib, second.labels) == (8, 32768, {"zone": "a", "gpu": "yes"})
    assert str(second.ip) == "127.31.0.99"


@pytest.mark.parametrize(
    ("said", "url"),
    [
        ("k8s.example.org", "https://k8s.example.org:6443"),
        ("https://k8s.example.org", "https://k8s.example.org:6443"),
        ("https://k8s.example.org:443/", "https://k8s.example.org:443"),
        ("10.0.0.9:6444", "https://10.0.0.9:6444"),
        ("https://[fd00::1]:6443", "https://[fd00::1]:6443"),
        ("https://[fd00::1]", "https://[fd00::1]:6443"),
    ],
)
def test_endpoints(make: Make, said: str, url: str) -> None:
    cluster = make(f"network: {{node_cidr: 10.0.0.0/24, endpoint: '{said}'}}\nlibvirt: {{}}\ncontrolplane: 3\n")
    assert cluster.endpoint.url == url


def test_the_lab_needs_nothing(make: Make) -> None:
    cluster = make("controlplane: 3\nworkers: 2\n")
    assert cluster.provider.name == "lab"
    assert all(node.ip.is_loopback for node in cluster.nodes)
    assert cluster.network.vip is not None and cluster.network.vip.is_loopback
    assert cluster.endpoint.host == str(cluster.network.vip)


def test_two_labs_live_side_by_side() -> None:
    networks = {lab_network_of(name) for name in ("dev", "prod", "staging", "lab")}
    assert len(networks) == 4
    assert "127.0.0.0/16" not in {lab_network_of(f"cluster-{number}") for number in range(5000)}


def test_aws_spreads_over_zones_with_a_sixteenth_each(make: Make) -> None:
    cluster = make(
        "aws: {region: eu-west-1, azs: [eu-west-1a, eu-west-1b], domain: example.org, vpc_cidr: 10.8.0.0/16,\n"
        "  instance_type: {controlplane: m6i.large, workers: c6i.large}}\n"
        "controlplane: 3\nworkers:\n  - {name: w-1, az: eu-west-1b, instance_type: g5.xlarge}\n"
    )
    assert [(node.zone, str(node.subnet), str(node.ip), node.instance_type) for node in cluster.nodes] == [
        ("eu-west-1a", "10.8.0.0/20", "10.8.0.10", "m6i.large"),
        ("eu-west-1b", "10.8.16.0/20", "10.8.16.11", "m6i.large"),
        ("eu-west-1a", "10.8.0.0/20", "10.8.0.12", "m6i.large"),
        ("eu-west-1b", "10.8.16.0/20", "10.8.16.20", "g5.xlarge"),
    ]
    assert cluster.endpoint.url == "https://k8s.example.org:6443"


def test_aws_without_a_domain_has_the_load_balancers_name_to_come(make: Make) -> None:
    block = "aws: {region: eu-west-1, azs: [eu-west-1a]%s}\ncontrolplane: 1\n"
    endpoint = make(block % "").endpoint
    assert endpoint.to_come and endpoint.url == f"https://{ENDPOINT_TO_COME}:6443"
    assert not make(block % ", domain: example.org").endpoint.to_come
    own = make(block % "" + "network: {endpoint: 'https://api.example.org:6443'}\n").endpoint
    assert (own.host, own.to_come) == ("api.example.org", False)


def test_aws_in_subnets_that_exist(make: Make) -> None:
    cluster = make(
        "aws:\n  {region: eu-west-1, azs: [eu-west-1a, eu-west-1b], vpc_id: vpc-0123456789abcdef0,\n"
        "   vpc_cidr: 172.31.0.0/16, subnets:\n"
        "            {eu-west-1a: {id: subnet-0123456789abcdef0, cidr: 172.31.64.0/20},\n"
        "             eu-west-1b: {id: subnet-0123456789abcdef1, cidr: 172.31.32.0/20}}}\n"
        "controlplane: 2\n"
    )
    assert [(node.zone, str(node.subnet), str(node.ip)) for node in cluster.nodes] == [
        ("eu-west-1a", "172.31.64.0/20", "172.31.64.10"),
        ("eu-west-1b", "172.31.32.0/20", "172.31.32.11"),
    ]


@pytest.mark.parametrize(
    ("settings", "public", "hops"),
    [
        ("", True, 1),
        (", private: true", False, 1),
        (", reach: private", False, 1),
        (", iam: [ecr-read-only]", True, 1),
        (", iam: {controlplane: [cloud-controller]}", True, 2),
        (", iam: {workers: [ebs-csi]}, metadata_hop_limit: 1", True, 1),
        (", metadata_hop_limit: 2", True, 2),
    ],
)
def test_aws_derives_how_nodes_and_metadata_are_reached(make: Make, settings: str, public: bool, hops: int) -> None:
    section = make(f"aws: {{region: eu-west-1, azs: [eu-west-1a]{settings}}}\ncontrolplane: 1\n").provider
    assert isinstance(section, Aws)
    assert (section.reaches_public, section.hop_limit) == (public, hops)


def test_each_zone_of_aws_has_two_parts_of_the_vpc_that_no_other_has() -> None:
    zones = [f"eu-west-1{letter}" for letter in "abcdefgh"]
    section = Aws.model_validate({"region": "eu-west-1", "azs": zones, "vpc_cidr": "10.8.0.0/16", "private": True})
    parts = [zone_subnet(section, zone, public=public) for public in (False, True) for zone in zones]
    assert len(set(parts)) == 16 and all(part.subnet_of(section.vpc_cidr) for part in parts)  # type: ignore[arg-type]
    assert [str(parts[0]), str(parts[8])] == ["10.8.0.0/20", "10.8.128.0/20"]


def test_metal_keeps_disks_and_macs_as_they_are(make: Make) -> None:
    cluster = make(
        "metal:\nnetwork: {node_cidr: 10.0.0.0/24}\n"
        "controlplane:\n  - {name: a, ip: 10.0.0.9, disk: S4EWNX0R1, interface: eno1}\n"
        "workers:\n  - {name: b, ip: 10.0.0.10, disk: /dev/nvme0n1, mac_addr: 58-47-CA-70-3B-10}\n"
    )
    first, second = cluster.nodes
    assert first.install_disk is not None and first.install_disk.serial == "S4EWNX0R1" and first.mac is None
    assert second.install_disk is not None and second.install_disk.device == "/dev/nvme0n1"
    assert second.mac == "58:47:ca:70:3b:10"
    assert first.cpu is first.ram_mib is first.disk_mib is None


def test_a_nodes_schematic_replaces_the_clusters_image(make: Make) -> None:
    schematic = "ab" * 32
    cluster = make(
        "image: {extensions: [siderolabs/iscsi-tools], secureboot: true}\ncontrolplane: 1\n"
        f"workers:\n  - {{name: w-1, schematic: {schematic}}}\n  - {{name: w-2, secureboot: false}}\n"
    )
    plain, own, open_ = (node.image for node in cluster.nodes)
    assert plain.extensions == ["siderolabs/iscsi-tools"] and plain.secureboot
    assert own.schematic == schematic and own.extensions == [] and own.secureboot
    assert open_.extensions == ["siderolabs/iscsi-tools"] and not open_.secureboot


def test_adding_removing_and_shuffling_nodes_changes_no_other(make: Make) -> None:
    names = [f"w-{number}" for number in range(1, 30)] + ["gpu", "storage"]
    provider = "network: {node_cidr: 10.0.0.0/24}\nproxmox: {node: pve}\ncontrolplane: 1\n"

    def listed(chosen: list[str]) -> dict[str, object]:
        addresses = {"gpu": ", ip: 10.0.0.203", "storage": ", ip: 10.0.0.207"}
        entries = [f"  - {{name: {name}{addresses.get(name, '')}}}" for name in chosen]
        return {node.name: node for node in make(provider + "workers:\n" + "\n".join(entries) + "\n").workers}

    full = listed(names)
    for seed in range(5):
        some = random.Random(seed).sample(names, k=12)  # noqa: S311 - a shuffle, not a secret
        assert all(full[name] == node for name, node in listed(some).items())
    assert make(provider + "workers: 5\n").workers == make(provider + "workers: 9\n").workers[:5]


def test_the_same_files_give_the_same_cluster_in_another_process(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(HEADER + "controlplane: 3\nworkers: 3\n")
    outputs = {
        subprocess.run(
            [sys.executable, "-m", "talosmith", "show", "-i", str(tmp_path), "-o", "json"],
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": str(seed), "PATH": ""},
        ).stdout
        for seed in (1, 2)
    }
    assert len(outputs) == 1


def test_patches_in_their_order(tmp_path: Path) -> None:
    for folder, text in {
        "base/cluster.yaml": HEADER + "controlplane: 1\npatches: [{from: base}]\n",
        "base/patches/global/b.yaml": "from: base/b\n",
        "base/patches/global/a.yaml": "from: base/a\n---\nfrom: base/a2\n",
        "env/cluster.yaml": "extends: ../base\nworkers: {count: 1, patches: [extra.yaml], overrides: "
        "{w-1: {patches: [{from: node}]}}}\n",
        "env/extra.yaml": "from: extra\n",
        "env/patches/global/c.yaml": "from: env/c\n",
        "env/patches/worker/d.yaml": "from: env/d\n",
        "env/patches/controlplane/e.yaml": "from: env/e\n",
        "env/patches/nodes/w-1.yaml": "from: env/w-1\n",
    }.items():
        path = tmp_path / folder
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    cluster = load(tmp_path / "env")
    order = {
        node.name: [
            document["from"]
            for patch in cluster.patches_for(node)
            for document in (yaml.safe_load_all(patch.text) if patch.text else [patch.value])
        ]
        for node in cluster.nodes
    }
    shared = ["base/a", "base/a2", "base/b", "env/c", "base"]
    assert order == {"cp-1": [*shared, "env/e"], "w-1": [*shared, "env/d", "extra", "env/w-1", "node"]}


def test_the_cluster_is_frozen(make: Make) -> None:
    cluster = make("controlplane: 1\n")
    with pytest.raises(AttributeError):
        cluster.name = "other"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        cluster.nodes[0].name = "other"  # type: ignore[misc]
