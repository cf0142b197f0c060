"""What the inventory says of a node, in the form of Talos 1.14: a document for each part, and the same meaning."""

from __future__ import annotations

from pathlib import Path

import pytest
from machine_clusters import STATIC, Make, documents

from talosmith.desired.config.meaning import differences, meaning
from talosmith.desired.machine.check import check_configs

TALOS, KUBERNETES = "v1.14.1", "v1.34.0"
METAL = "metal:\nnetwork: {node_cidr: 10.0.0.0/24}\n"


def test_static_addresses(make: Make) -> None:
    found = documents(make(STATIC + "libvirt: {}\ncontrolplane: 3\nworkers: 1\n", TALOS, KUBERNETES), "cp-2")
    assert found["HostnameConfig", ""]["hostname"] == "cp-2"
    assert found["LinkConfig", "net0"]["addresses"] == [{"address": "10.0.0.11/24"}]
    assert found["Layer2VIPConfig", "10.0.0.100"]["link"] == "net0"
    assert found["ResolverConfig", ""] | {} == {
        "apiVersion": "v1alpha1",
        "kind": "ResolverConfig",
        "nameservers": [{"address": "10.0.0.53"}],
        "hostDNS": {"enabled": True, "forwardKubeDNSToHost": True},
    }
    assert found["KubeNodeConfig", ""]["nodeIP"] == {"validSubnets": ["10.0.0.0/24"]}
    assert found["KubeClusterConfig", ""]["endpoint"] == "https://10.0.0.100:6443"
    assert found["KubeAPIServerConfig", ""]["certExtraSANs"] == ["10.0.0.100"]
    assert found["", ""]["cluster"].keys() == {"token", "etcd"}
    assert found["", ""]["cluster"]["etcd"]["advertisedSubnets"] == ["10.0.0.0/24"]


@pytest.mark.parametrize(
    ("disk", "match"),
    [
        ("disk: /dev/sda", 'disk.dev_path == "/dev/sda"'),
        ("disk: /dev/disk/by-id/x", '"/dev/disk/by-id/x" in disk.symlinks'),
        ("disk: S4EWNX0R1", 'glob("S4EWNX0R1", disk.serial) && disk.transport != ""'),
        ("disk_selector: {type: ssd, size: '>= 100GB'}", 'disk.size >= 100000000000u && disk.transport != ""'),
    ],
)
def test_install_disk(make: Make, disk: str, match: str) -> None:
    found = documents(
        make(f"{METAL}controlplane: {{count: 1, interface: eth0, {disk}}}\n", TALOS, KUBERNETES), "cp-1"
    )
    install = found["UnattendedInstallConfig", ""]
    assert install["installer"]["image"].startswith("factory.talos.dev/metal-installer/3765")
    assert install["provisioning"]["diskSelector"]["match"].startswith(match)
    assert install["provisioning"]["wipe"] is False
    assert "install" not in found["", ""]["machine"]


def test_labels_taints_modules_sysctls(make: Make) -> None:
    text = (
        "controlplane: {count: 1, labels: {rack: a}}\nworkers:\n  count: 1\n  labels: {rack: b}\n"
        "  taints: ['gpu=yes:NoSchedule']\n  kernel_modules: [nvidia, drbd]\n"
        "talos: {sysctls: {a.b: '1'}, kube_prism: false, host_dns: false, discovery: false, kubespan: false}\n"
    )
    cluster = make(text, TALOS, KUBERNETES)
    worker, controlplane = documents(cluster, "w-1"), documents(cluster, "cp-1")
    assert worker["KubeNodeConfig", ""]["labels"] == {"rack": "b"}
    assert worker["KubeNodeConfig", ""]["taints"] == {"gpu": "yes:NoSchedule"}
    role = "node-role.kubernetes.io/control-plane"
    assert controlplane["KubeNodeConfig", ""]["labels"].keys() == {
        "rack", role, "node.kubernetes.io/exclude-from-external-load-balancers"
    }  # fmt: skip
    assert controlplane["KubeNodeConfig", ""]["taints"] == {role: "NoSchedule"}
    assert {name for kind, name in worker if kind == "KernelModuleConfig"} == {"nvidia", "drbd"}
    assert worker["SysctlConfig", ""]["params"] == {"a.b": "1"}
    assert worker["ResolverConfig", ""]["hostDNS"] == {"enabled": False, "forwardKubeDNSToHost": False}
    assert not {"KubePrismConfig", "DiscoveryServiceConfig", "KubeSpanConfig"} & {kind for kind, _ in worker}


def test_network_of_pods(make: Make) -> None:
    plain = documents(make("controlplane: 1\nworkers: 1\n", TALOS, KUBERNETES), "cp-1")
    assert plain["KubeFlannelCNIConfig", ""]["backendType"] == "vxlan"
    alone = documents(make("controlplane: 1\naddons: {cilium: true}\n", TALOS, KUBERNETES), "cp-1")
    assert ("KubeFlannelCNIConfig", "") not in alone and alone["KubeProxyConfig", ""]["enabled"] is False
    assert not alone["KubeNodeConfig", ""].get("taints")  # a cluster without workers
    urls = "['https://example.org/cni.yaml', 'https://example.org/more.yaml']"
    text = f"controlplane: 1\nkubernetes: {{cni: {{name: custom, urls: {urls}}}}}\n"
    custom = documents(make(text, TALOS, KUBERNETES), "cp-1")
    assert ("KubeFlannelCNIConfig", "") not in custom
    manifests = {name: one["url"] for (kind, name), one in custom.items() if kind == "KubeExternalManifestConfig"}
    assert manifests == {
        "custom-cni": "https://example.org/cni.yaml", "custom-cni-2": "https://example.org/more.yaml"
    }  # fmt: skip


def test_add_ons(make: Make) -> None:
    text = (
        "domain: example.org\ncontrolplane: 3\nworkers:\n  - {name: w-1}\n"
        "  - {name: w-2, volumes: [{name: local-path-provisioner, disk: /dev/sdb}]}\n"
        "addons: {coredns: true, spegel: true, talos-ccm: true, local-path-provisioner: true}\n"
    )
    cluster = make(text, TALOS, KUBERNETES)
    controlplane, worker, with_disk = (documents(cluster, name) for name in ("cp-1", "w-1", "w-2"))
    assert controlplane["KubeCoreDNSConfig", ""]["enabled"] is False
    assert "discard_unpacked_layers" in worker["CRICustomizationConfig", "spegel"]["content"]
    assert worker["KubeletConfig", ""]["extraArgs"] == {"rotate-server-certificates": "true"}
    assert controlplane["KubeTalosAPIAccessConfig", ""]["allowedRoles"] == ["os:reader"]
    assert ("KubeTalosAPIAccessConfig", "") not in worker
    assert worker["UserVolumeConfig", "local-path-provisioner"]["volumeType"] == "directory"
    assert with_disk["UserVolumeConfig", "local-path-provisioner"]["volumeType"] == "partition"
    assert "machine.kubelet" not in str(worker["", ""])


INVENTORIES = {
    "static": STATIC + "libvirt: {}\ncontrolplane: 3\nworkers: 2\n",
    "metal": METAL + "controlplane: {count: 1, interface: eth0, disk: /dev/sda, encrypt_disk: true}\n",
    "selector": METAL + "controlplane: {count: 1, interface: eth0, disk_selector: {model: 'Samsung*', type: nvme}}\n",
    "settings": (
        "controlplane: {count: 1, labels: {a: b}, taints: ['x:NoExecute']}\nworkers: {count: 1, labels: {c: d}}\n"
        "talos: {sysctls: {a.b: '1'}, registry_mirrors: {docker.io: ['http://10.0.0.9:5000']}, kubespan: true}\n"
        "kubernetes: {dns_domain: k8s.example.org, schedule_on_controlplanes: true}\n"
    ),
    "switched off": (
        "controlplane: 1\nworkers: {count: 1, kernel_modules: [nvidia]}\n"
        "talos: {kube_prism: false, host_dns: false, discovery: false}\nkubernetes: {cni: none, kube_proxy: false}\n"
    ),
    "custom CNI": "controlplane: 1\nkubernetes: {cni: {name: custom, urls: ['https://example.org/cni.yaml']}}\n",
    "add-ons": "controlplane: 1\nworkers: 1\naddons: {coredns: true, spegel: true, talos-ccm: true}\n",
}
# What the contract of 1.14 itself changes. A disabled host DNS is none at all there.
OF_THE_CONTRACT = (
    "install.image",
    "volumes.EPHEMERAL.mount.secure",
    "other_documents.FilesystemTrimConfig",
    "other_documents.SecurityProfileConfig.workloadIsolation",
    "api_server.startupProbes",
    "api_server.authenticationConfig",
    "api_server.extraVolumes",
    "authentication",
    "proxy.configFile",
    "etcd_encryption.resources[0].providers[1].identity",  # secrets that were stored without encryption are not read
)
OF_THE_ADD_ON = ("cri_customization",)  # containerd's part has the name of the add-on


@pytest.mark.parametrize("name", INVENTORIES)
def test_both_forms_mean_the_same(make: Make, name: str) -> None:
    old, new = (make(INVENTORIES[name], talos, KUBERNETES) for talos in ("v1.13.9", TALOS))
    expected = OF_THE_CONTRACT + (OF_THE_ADD_ON if name == "add-ons" else ())
    expected += ("host_dns",) if name == "switched off" else ()
    for node in old.nodes:
        one, other = (meaning(documents(cluster, node.name).values()) for cluster in (old, new))
        found = differences(one, other)
        assert [change for change in found if not change.name.startswith(expected)] == []
        assert any(change.name == "other_documents.SecurityProfileConfig.workloadIsolation" for change in found)


def test_a_setting_in_both_forms_is_named_with_both_places(make: Make) -> None:
    """Once, though all nodes have it."""
    cluster = make(
        "controlplane: 3\nworkers: 1\n",
        TALOS,
        KUBERNETES,
        global__1="machine:\n  kubelet:\n    extraArgs: {v: '3'}\n",
        global__2="apiVersion: v1alpha1\nkind: EnvironmentConfig\nvariables: {A: b}\n",
        controlplane__1="cluster:\n  network: {dnsDomain: a.example}\n",
    )
    problems = [one for one in check_configs(cluster) if one.severity == "error"]
    assert [(Path(one.file).name, one.line, one.what, one.fix) for one in problems if "kubelet" in one.what] == [
        (
            "1.yaml",
            2,
            "machine.kubelet is set together with the document KubeletConfig; Talos accepts only one of them; "
            "KubeletConfig is in every config for this Talos",
            "move machine.kubelet to KubeletConfig: talosmith config migrate",
        )
    ]
    assert {(Path(one.file).parent.name, one.line) for one in problems if "cluster.network" in one.what} == {
        ("controlplane", 2)
    }


def test_a_document_of_1_14_on_nodes_of_1_13(make: Make) -> None:
    patch = "apiVersion: v1alpha1\nkind: KubeletConfig\nextraArgs: {v: '3'}\n"
    (problem,) = check_configs(make("controlplane: 1\n", "v1.13.9", KUBERNETES, global__1=patch))
    assert "KubeletConfig is of Talos 1.14; nodes run Talos 1.13" in problem.what and problem.line == 1
    assert problem.fix.startswith("write machine.kubelet instead")
