"""What the inventory says of a node, in the words of each Talos: documents from 1.12 on, one section before."""

from __future__ import annotations

import time

import pytest
from machine_clusters import BUNDLE, STATIC, Make, documents

from talosmith import Cluster
from talosmith.desired.config.problems import ConfigError
from talosmith.desired.machine import MachineConfigs
from talosmith.desired.machine.check import check_configs

FACTORY = "factory.talos.dev"
EMPTY_SCHEMATIC = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"


def test_static_addresses_as_documents(make: Make) -> None:
    found = documents(make(STATIC + "libvirt: {}\ncontrolplane: {count: 3, mtu: 9000}\nworkers: 1\n"), "cp-2")
    assert found["HostnameConfig", ""] | {} == {
        "apiVersion": "v1alpha1", "kind": "HostnameConfig", "auto": "off", "hostname": "cp-2"
    }  # fmt: skip
    assert found["LinkAliasConfig", "net0"]["selector"] == {
        "match": 'mac(link.permanent_addr) == "52:54:00:c1:00:02"'
    }
    link = found["LinkConfig", "net0"]
    assert link["addresses"] == [{"address": "10.0.0.11/24"}]
    assert link["routes"] == [{"gateway": "10.0.0.1"}]
    assert link["mtu"] == 9000
    assert found["Layer2VIPConfig", "10.0.0.100"]["link"] == "net0"
    assert found["ResolverConfig", ""]["nameservers"] == [{"address": "10.0.0.53"}]
    assert found["TimeSyncConfig", ""]["ntp"] == {"servers": ["ntp.example.org"]}
    main = found["", ""]
    assert main["machine"]["certSANs"] == ["10.0.0.100"]
    assert main["machine"]["kubelet"]["nodeIP"] == {"validSubnets": ["10.0.0.0/24"]}
    assert main["cluster"]["etcd"]["advertisedSubnets"] == ["10.0.0.0/24"]


def test_static_addresses_before_documents(make: Make) -> None:
    cluster = make(STATIC + "libvirt: {}\ncontrolplane: 3\nworkers: 1\n", talos="v1.11.6")
    main = documents(cluster, "cp-1")["", ""]["machine"]
    assert main["network"] == {
        "hostname": "cp-1",
        "nameservers": ["10.0.0.53"],
        "interfaces": [
            {
                "deviceSelector": {"hardwareAddr": "52:54:00:c1:00:01", "physical": True},
                "dhcp": False,
                "addresses": ["10.0.0.10/24"],
                "routes": [{"network": "0.0.0.0/0", "gateway": "10.0.0.1"}],
                "vip": {"ip": "10.0.0.100"},
            }
        ],
    }
    assert main["time"] == {"servers": ["ntp.example.org"]}
    assert "vip" not in documents(cluster, "w-1")["", ""]["machine"]["network"]["interfaces"][0]


@pytest.mark.parametrize("talos", ["v1.11.6", "v1.13.9"])
def test_the_cluster_endpoint_is_in_the_certificates_once(make: Make, talos: str) -> None:
    main = documents(make(STATIC + "libvirt: {}\ncontrolplane: 3\n", talos=talos), "cp-1")["", ""]
    assert main["cluster"]["apiServer"]["certSANs"] == ["10.0.0.100"]


def test_dhcp_says_nothing_that_would_end_it(make: Make) -> None:
    text = "libvirt: {}\ncontrolplane:\n  - {name: cp-1, ip: 10.0.0.10}\nworkers:\n  - {name: w-1, ip: 10.0.0.20}\n"
    kinds = {kind for kind, _ in documents(make(text), "w-1")}
    assert kinds == {"", "HostnameConfig"}


def test_dhcp_with_a_vip_keeps_dhcp(make: Make) -> None:
    nodes = "".join(f"  - {{name: cp-{n}, ip: 10.0.0.1{n}}}\n" for n in (1, 2, 3))
    text = f"network: {{vip: 10.0.0.100}}\nlibvirt: {{}}\ncontrolplane:\n{nodes}"
    found = documents(make(text), "cp-1")
    assert {kind for kind, _ in found} == {"", "HostnameConfig", "LinkAliasConfig", "Layer2VIPConfig"}
    old = documents(make(text, talos="v1.10.9"), "cp-1")["", ""]["machine"]["network"]["interfaces"]
    assert old[0]["dhcp"] is True and old[0]["vip"] == {"ip": "10.0.0.100"}


def test_vlan_bond_and_routes(make: Make) -> None:
    text = (
        "network: {node_cidr: 10.0.0.0/24, vip: 10.0.0.100}\nmetal:\n"
        "controlplane:\n  count: 3\n  disk: /dev/sda\n  vlan: 30\n"
        "  bond: {interfaces: [eno1, eno2], lacp_rate: fast, miimon: 100}\n"
        "  routes: [{to: 10.9.0.0/16, via: 10.0.0.2, metric: 50}]\n"
    )
    found = documents(make(text), "cp-1")
    bond = found["BondConfig", "bond0"]
    assert (bond["links"], bond["bondMode"], bond["lacpRate"], bond["miimon"]) == (
        ["eno1", "eno2"],
        "802.3ad",
        "fast",
        100,
    )
    assert "addresses" not in bond
    vlan = found["VLANConfig", "bond0.30"]
    assert (vlan["parent"], vlan["vlanID"]) == ("bond0", 30)
    assert vlan["routes"] == [
        {"gateway": "10.0.0.1"},
        {"destination": "10.9.0.0/16", "gateway": "10.0.0.2", "metric": 50},
    ]
    assert found["Layer2VIPConfig", "10.0.0.100"]["link"] == "bond0.30"
    old = documents(make(text, talos="v1.9.6", kubernetes="v1.30.0"), "cp-1")["", ""]["machine"]["network"][
        "interfaces"
    ][0]
    assert old["interface"] == "bond0" and old["bond"]["mode"] == "802.3ad" and "addresses" not in old
    assert old["vlans"][0]["vip"] == {"ip": "10.0.0.100"}
    assert old["vlans"][0]["routes"][1] == {"network": "10.9.0.0/16", "gateway": "10.0.0.2", "metric": 50}


def test_disks_encryption_and_volumes(make: Make) -> None:
    text = (
        "network: {node_cidr: 10.0.0.0/24}\nmetal:\ncontrolplane:\n"
        "  - {name: cp-1, disk: S4EWNX0R1, interface: eno1, encrypt_disk: true,\n"
        "     volumes: [{name: data, disk: /dev/sdb, min_size: 10G},\n"
        "               {name: fast, disk: 'disk.transport == \"nvme\"'}]}\n"
    )
    found = documents(make(text), "cp-1")
    install = found["", ""]["machine"]["install"]
    assert install["diskSelector"] == {"serial": "S4EWNX0R1"} and not install.get("disk")
    assert found["VolumeConfig", "STATE"]["encryption"]["keys"] == [{"slot": 0, "tpm": {}}]
    assert found["UserVolumeConfig", "data"]["provisioning"] == {
        "diskSelector": {"match": 'disk.dev_path == "/dev/sdb"'}, "minSize": "10GiB"
    }  # fmt: skip
    assert found["UserVolumeConfig", "fast"]["provisioning"]["diskSelector"] == {"match": 'disk.transport == "nvme"'}
    old = documents(make(text, talos="v1.9.6", kubernetes="v1.30.0"), "cp-1")["", ""]["machine"]
    assert old["systemDiskEncryption"]["ephemeral"]["keys"] == [{"slot": 0, "tpm": {}}]
    assert old["disks"][0] == {"device": "/dev/sdb", "partitions": [{"mountpoint": "/var/mnt/data"}]}


def test_labels_taints_modules_sysctls_mirrors(make: Make) -> None:
    text = (
        "controlplane: 1\nworkers:\n  count: 1\n  labels: {rack: a}\n"
        "  taints: ['gpu=yes:NoSchedule', 'dedicated:NoExecute']\n  kernel_modules: [nvidia]\n"
        "talos: {sysctls: {a.b: '1'}, registry_mirrors: {docker.io: ['http://10.0.0.9:5000']}, kube_prism: false}\n"
    )
    found = documents(make(text), "w-1")
    machine = found["", ""]["machine"]
    assert machine["nodeLabels"] == {"rack": "a"}
    assert machine["nodeTaints"] == {"gpu": "yes:NoSchedule", "dedicated": "NoExecute"}
    assert machine["kernel"] == {"modules": [{"name": "nvidia"}]}
    assert machine["sysctls"] == {"a.b": "1"}
    assert machine["features"]["kubePrism"]["enabled"] is False
    assert found["RegistryMirrorConfig", "docker.io"]["endpoints"] == [{"url": "http://10.0.0.9:5000"}]


def test_network_of_pods(make: Make) -> None:
    plain = documents(make("controlplane: 1\nworkers: 1\n"), "cp-1")["", ""]["cluster"]
    assert "cni" not in plain["network"] and not plain.get("allowSchedulingOnControlPlanes")
    alone = documents(make("controlplane: 1\naddons: {cilium: true}\n"), "cp-1")["", ""]["cluster"]
    assert alone["network"]["cni"] == {"name": "none"} and alone["proxy"]["disabled"] is True
    assert alone["allowSchedulingOnControlPlanes"] is True
    custom = "controlplane: 1\nkubernetes: {cni: {name: custom, urls: ['https://example.org/cni.yaml']}}\n"
    said = documents(make(custom), "cp-1")["", ""]["cluster"]
    assert said["network"]["cni"] == {"name": "custom", "urls": ["https://example.org/cni.yaml"]}


@pytest.mark.parametrize(
    ("provider", "installer"),
    [
        ("metal:\nnetwork: {node_cidr: 10.0.0.0/24}", "ghcr.io/siderolabs/installer:v1.13.9"),
        ("libvirt: {}\nnetwork: {node_cidr: 10.0.0.0/24}", f"{FACTORY}/nocloud-installer/{EMPTY_SCHEMATIC}:v1.13.9"),
    ],
)
def test_the_installer_is_that_of_the_platform(make: Make, provider: str, installer: str) -> None:
    cluster = make(f"{provider}\ncontrolplane: {{count: 1, disk: /dev/sda, interface: eth0}}\n")
    assert documents(cluster, "cp-1")["", ""]["machine"]["install"]["image"] == installer


def test_a_node_with_its_own_schematic_gets_its_own_installer(make: Make) -> None:
    schematic = "ab" * 32
    cluster = make(f"controlplane: 1\nworkers:\n  - {{name: w-1, schematic: {schematic}}}\n  - {{name: w-2}}\n")
    images = {name: documents(cluster, name)["", ""]["machine"]["install"]["image"] for name in ("w-1", "w-2")}
    assert images == {
        "w-1": f"factory.talos.dev/metal-installer/{schematic}:v1.13.9",
        "w-2": "ghcr.io/siderolabs/installer:v1.13.9",
    }


def test_patches_have_the_last_word_in_their_order(make: Make) -> None:
    cluster = make(
        "controlplane: 1\nworkers: {count: 2, labels: {a: inventory, b: inventory}}\n",
        global__1="machine: {sysctls: {x: global}}\n",
        global__2="machine: {nodeLabels: {a: global, c: '${node.name}.${cluster.name}'}}\n",
        worker__1="machine: {sysctls: {x: worker}}\n",
    )
    machine = documents(cluster, "w-2")["", ""]["machine"]
    assert machine["nodeLabels"] == {"a": "global", "b": "inventory", "c": "w-2.dev"}
    assert machine["sysctls"] == {"x": "worker"}


def test_patches_applied_once_give_what_patches_applied_to_each_node_give(make: Make) -> None:
    """The short way for patches that touch nothing of what the inventory says must not be seen in the result."""
    patches = {
        "global__1": "machine: {sysctls: {x: '1'}}\n",
        "global__2": "cluster: {apiServer: {extraArgs: {v: '2'}}}\n",
        "global__3": "apiVersion: v1alpha1\nkind: KmsgLogConfig\nname: log\nurl: udp://10.0.0.9:514/\n",
    }
    text = STATIC + "libvirt: {}\ncontrolplane: 3\nworkers: 2\n"
    once = make(text, **patches)
    each = make(text, **{name: patch + "# ${node.name}\n" for name, patch in patches.items()})
    for node in once.nodes:
        assert documents(once, node.name) == documents(each, node.name)


@pytest.mark.slow
def test_ten_times_as_many_nodes_cost_ten_times_as_much(make: Make) -> None:
    """One good look is enough: whatever else the machine does may cost, but never makes a square a line."""
    patches = {"global__1": "machine: {sysctls: {x: '1'}}\n", "global__2": "machine: {env: {A: '${node.name}'}}\n"}
    few, many = (
        make(
            "network: {node_cidr: 10.64.0.0/14, vip: 10.64.0.9, pod_cidr: 10.128.0.0/9}\nmetal: {}\n"
            "controlplane: {count: 3, disk: /dev/sda, interface: eth0}\n"
            f"workers: {{count: {count - 3}, disk: /dev/sda, interface: eth0}}\n",
            **patches,
        )
        for count in (100, 1000)
    )
    ratios: list[float] = []
    while not ratios or (ratios[-1] > 12 and len(ratios) < 8):
        ratios.append(_cpu(many, 1000) / _cpu(few, 100))
    assert ratios[-1] <= 12, ratios


def _cpu(cluster: Cluster, count: int) -> float:
    began = time.process_time()
    assert sum(1 for _ in MachineConfigs(cluster, BUNDLE)) == count
    return time.process_time() - began


def test_a_dollar_can_be_written(make: Make) -> None:
    cluster = make("controlplane: 1\n", global__1="machine: {env: {A: '$${HOME}'}}\n")
    assert documents(cluster, "cp-1")["", ""]["machine"]["env"] == {"A": "${HOME}"}


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("machine: {kubelett: {}}\n", "machine.kubelett: is not a field that Talos knows"),
        ("\nmachine: {env: {A: '${node.nme}'}}\n", "`${node.nme}`: there is no `nme`; did you mean `name`?"),
        ("machine: {env: {A: '${nodes}'}}\n", "`${nodes}` names neither the cluster nor the node"),
        ("machine: {env: {A: '${cluster.network}'}}\n", "`${cluster.network}` is not a single value"),
        ("machine: {type: worker}\n", "cp-1: "),
        ("- {op: remove, path: /machine/token}\n", "RFC 6902 patches do not work on configs of several documents"),
    ],
)
def test_wrong_patches_are_found_before_there_are_secrets(make: Make, patch: str, said: str) -> None:
    problems = check_configs(make("controlplane: 1\n", controlplane__1=patch))
    assert any(said in problem.what for problem in problems)
    if "cp-1" not in said:
        assert problems[0].file.endswith("patches/controlplane/1.yaml")


def test_the_line_of_a_wrong_placeholder(make: Make) -> None:
    problems = check_configs(make("controlplane: 1\n", global__1="machine:\n  env:\n    A: ${node.nme}\n"))
    assert [problem.line for problem in problems] == [3]


def test_a_config_that_talos_would_refuse_is_not_given_out(make: Make) -> None:
    cluster = make("controlplane: 1\n", global__1="machine: {kubelet: {extraConfig: {port: 1}}}\n")
    with pytest.raises(ConfigError):
        MachineConfigs(cluster, BUNDLE).render(cluster.nodes[0])
