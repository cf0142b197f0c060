"""What a talconfig says of its nodes and cluster becomes the inventory's keys where it has them, else patches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from talconfigs import PLAIN, do_import, do_load, entry, left_out, notes, patch, talconfig

from talosmith.errors import TalosmithError
from talosmith.inventory.importers import write

PLAIN_SCHEMATIC = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"
EXCLUDED = "node.kubernetes.io/exclude-from-external-load-balancers"
DELETE = {"$patch": "delete"}


def static(number: int, **more: Any) -> dict[str, Any]:
    """A card with a static address in 10.0.0.0/24."""
    card = {
        "interface": "eth0",
        "addresses": [f"10.0.0.{number}/24"],
        "routes": [{"network": "0.0.0.0/0", "gateway": "10.0.0.1"}],
    }
    return {"networkInterfaces": [card | more]}


def test_the_cluster(tmp_path: Path) -> None:
    cluster = do_load(
        tmp_path,
        talconfig(
            kubernetesVersion="1.35.2",
            domain="k8s.example.org",
            clusterPodNets=["10.42.0.0/16"],
            clusterSvcNets=["10.43.0.0/16"],
            cniConfig={"name": "custom", "urls": ["https://example.org/cni.yaml"]},
            allowSchedulingOnMasters=True,
            additionalApiServerCertSans=["home.example.org"],
        ),
    )
    assert (cluster.name, str(cluster.talos_version), str(cluster.kubernetes_version)) == (
        "home",
        "v1.13.4",
        "v1.35.2",
    )
    assert cluster.endpoint.url == "https://10.0.0.5:6443"
    assert cluster.provider.name == "metal"
    assert (str(cluster.network.pod_cidr), str(cluster.network.svc_cidr)) == ("10.42.0.0/16", "10.43.0.0/16")
    assert cluster.network.cert_sans == ("home.example.org",)
    assert cluster.kubernetes.dns_domain == "k8s.example.org"
    assert cluster.kubernetes.cni is not None and cluster.kubernetes.cni.urls == ["https://example.org/cni.yaml"]
    assert cluster.kubernetes.schedule_on_controlplanes is True
    assert [(node.name, node.role, str(node.ip)) for node in cluster.nodes] == [
        ("cp-1", "controlplane", "10.0.0.11"),
        ("w-1", "worker", "10.0.0.21"),
    ]


def test_workers_are_not_needed_for_control_planes_to_stay_free(tmp_path: Path) -> None:
    """Without workers an inventory lets pods run on control planes; a talconfig does not."""
    cluster = do_load(tmp_path, talconfig(nodes={}) | {"nodes": PLAIN["nodes"][:1]})
    assert cluster.kubernetes.schedule_on_controlplanes is False


def test_an_endpoint_without_a_port_keeps_its_meaning(tmp_path: Path) -> None:
    assert do_load(tmp_path, talconfig(endpoint="https://k8s.example.org")).endpoint.port == 443


@pytest.mark.parametrize(
    ("node", "keys"),
    [
        ({"installDisk": "/dev/nvme0n1"}, {"disk": "/dev/nvme0n1"}),
        ({"installDisk": None, "installDiskSelector": {"serial": "S4EV0Y"}}, {"disk": "S4EV0Y"}),
        ({"kernelModules": [{"name": "nbd"}]}, {"kernel_modules": ["nbd"]}),
        ({"nodeLabels": {"rack": 1, "on": True, "none": None}}, {"labels": {"rack": "1", "on": "true", "none": ""}}),
        ({"nodeTaints": {"a": "b:NoSchedule", "c": "NoExecute", "d": ":NoSchedule"}},
         {"taints": ["a=b:NoSchedule", "c:NoExecute", "d=:NoSchedule"]}),
        ({"machineSpec": {"arch": "arm64", "secureboot": True}}, {"arch": "arm64", "secureboot": True}),
        ({"networkInterfaces": [{"deviceSelector": {"hardwareAddr": "52:54:00:AA:00:01"}, "dhcp": True}]},
         {"mac_addr": "52:54:00:aa:00:01"}),
        ({"userVolumes": [{"name": "data", "provisioning": {
            "diskSelector": {"match": 'disk.serial == "WD-1"'}, "minSize": "2TiB"}}]},
         {"volumes": [{"name": "data", "disk": "WD-1", "min_size": "2T"}]}),
        ({"userVolumes": [{"name": "data", "provisioning": {
            "diskSelector": {"match": 'disk.transport == "nvme"'}, "maxSize": "512MiB"}}]},
         {"volumes": [{"name": "data", "disk": 'disk.transport == "nvme"', "max_size": "512M"}]}),
        ({"userVolumes": [{"name": "data", "provisioning": {
            "diskSelector": {"match": 'disk.serial == "sdb"'}, "minSize": "2TiB"}}]},  # not the device
         {"volumes": [{"name": "data", "disk": {"serial": "sdb"}, "min_size": "2T"}]}),
        ({"userVolumes": [{"name": "data", "provisioning": {
            "diskSelector": {"match": "system_disk"}, "minSize": "2TiB"}}]}, {"volumes": None}),  # one word of CEL
        ({"installDisk": None, "installDiskSelector": {"serial": "500G"}},  # which `disk` would take for a size
         {"disk_selector": {"serial": "500G"}, "disk": None}),
    ],
)  # fmt: skip
def test_keys_of_a_node(node: dict[str, Any], keys: dict[str, Any], tmp_path: Path) -> None:
    imported = do_import(tmp_path, talconfig(nodes={1: node}))
    assert imported.complete
    found = entry(imported, "w-1")
    assert {key: found.get(key) for key in keys} == keys
    write(tmp_path / "inventory", imported)


@pytest.mark.parametrize(
    ("node", "document"),
    [
        ({"installDiskSelector": {"size": "4GB"}},
         {"machine": {"install": {"diskSelector": {"size": "4GB"}}}}),
        ({"kernelModules": [{"name": "a", "parameters": ["b=c"]}, {"name": "d"}]},
         {"machine": {"kernel": {"modules": [{"name": "a", "parameters": ["b=c"]}, {"name": "d"}]}}}),
        ({"nodeTaints": {"a": "odd"}}, {"machine": {"nodeTaints": {"a": "odd"}}}),
        ({"nodeLabels": {"a": "not a label"}}, {"machine": {"nodeLabels": {"a": "not a label"}}}),
        ({"nodeAnnotations": {"a": "b"}}, {"machine": {"nodeAnnotations": {"a": "b"}}}),
        ({"certSANs": ["a.lan"]}, {"machine": {"certSANs": ["a.lan"]}}),
        ({"machineSpec": {"mode": "nocloud"}}, {"machine": {"install": {
            "image": f"factory.talos.dev/nocloud-installer/{PLAIN_SCHEMATIC}:${{cluster.talos_version}}"}}}),
        ({"talosImageURL": "ghcr.io/me/installer"},
         {"machine": {"install": {"image": "ghcr.io/me/installer:${cluster.talos_version}"}}}),
        ({"userVolumes": [{"name": "a", "provisioning": {
            "diskSelector": {"match": "system_disk"}, "minSize": "1GiB"}}]},
         {"apiVersion": "v1alpha1", "kind": "UserVolumeConfig", "name": "a",
          "provisioning": {"diskSelector": {"match": "system_disk"}, "minSize": "1GiB"}}),
        ({"userVolumes": [{"name": "a", "provisioning": {
            "diskSelector": {"match": 'disk.serial == "a"'}, "minSize": "10GB"}}]},
         {"apiVersion": "v1alpha1", "kind": "UserVolumeConfig", "name": "a",
          "provisioning": {"diskSelector": {"match": 'disk.serial == "a"'}, "minSize": "10GB"}}),
        ({"hostname": "W-1.lan"}, {"apiVersion": "v1alpha1", "kind": "HostnameConfig", "hostname": "W-1.lan"}),
        ({"ignoreHostname": True},
         {"apiVersion": "v1alpha1", "kind": "HostnameConfig", "auto": "stable", "hostname": DELETE}),
        ({"nameservers": ["9.9.9.9"], "disableSearchDomain": True},
         {"apiVersion": "v1alpha1", "kind": "ResolverConfig", "nameservers": [{"address": "9.9.9.9"}],
          "searchDomains": {"disableDefault": True}}),
    ],
)  # fmt: skip
def test_what_has_no_key_is_a_patch(node: dict[str, Any], document: dict[str, Any], tmp_path: Path) -> None:
    imported = do_import(tmp_path, talconfig(nodes={1: node}))
    assert imported.complete, imported.remarks
    assert document in patch(imported, "nodes/w-1")
    write(tmp_path / "inventory", imported)


def test_a_disk_by_its_properties(tmp_path: Path) -> None:
    node = {"installDisk": None, "installDiskSelector": {"model": "WDC*", "type": "ssd"}}
    made = entry(do_import(tmp_path, talconfig(nodes={1: node})), "w-1")
    assert made["disk_selector"] == {"model": "WDC*", "type": "ssd"} and "disk" not in made


def test_a_disk_that_a_patch_chooses_is_none_that_could_be_overwritten(tmp_path: Path) -> None:
    node = {"installDisk": "sda"}
    assert entry(do_import(tmp_path, talconfig(nodes={1: node})), "w-1")["disk"] == "/dev/disk/chosen-by-patch"


@pytest.mark.parametrize(("written", "mode"), [("0644", "0o644"), ("0o600", "0o600"), ("384", "0o600")])
def test_file_modes_are_octal_as_talhelper_reads_them(written: str, mode: str, tmp_path: Path) -> None:
    text = yaml.safe_dump(talconfig()) + (
        f"worker:\n  machineFiles:\n    - {{content: x, permissions: {written}, path: /var/x, op: create}}\n"
    )
    assert f"permissions: {mode}\n" in do_import(tmp_path, text).files["patches/worker/00-talconfig.yaml"]


def test_a_group_speaks_for_its_nodes_unless_they_do(tmp_path: Path) -> None:
    data = talconfig(
        controlPlane={
            "nodeLabels": {"from": "group"},
            "nodeTaints": {"a": "NoSchedule"},
            "kernelModules": [{"name": "b"}],
        },
        nodes={0: {"nodeLabels": {"from": "node"}, "nodeTaints": {}, "kernelModules": []}},
    )
    data["nodes"].append(data["nodes"][0] | {"hostname": "cp-2", "ipAddress": "10.0.0.12"})
    data["nodes"].append(
        {"hostname": "cp-3", "ipAddress": "10.0.0.13", "controlPlane": True, "installDisk": "/dev/sda"}
    )
    cluster = do_load(tmp_path, data)
    assert [node.labels for node in cluster.controlplanes] == [{"from": "node"}, {"from": "node"}, {"from": "group"}]
    assert [node.taints for node in cluster.controlplanes] == [(), (), ("a:NoSchedule",)]
    assert [node.kernel_modules for node in cluster.controlplanes] == [(), (), ("b",)]


def test_what_a_role_has_in_common_is_said_once(tmp_path: Path) -> None:
    data = talconfig(nodes={1: {"kernelModules": [{"name": "nbd"}], "certSANs": ["w.lan"]}})
    data["nodes"].append(data["nodes"][1] | {"hostname": "w-2", "ipAddress": "10.0.0.22"})
    imported = do_import(tmp_path, data)
    workers = yaml.safe_load(imported.files["nodes.yaml"])["workers"]
    assert (workers["kernel_modules"], workers["nodes"][0]) == (["nbd"], {"name": "w-1", "ip": "10.0.0.21"})
    assert patch(imported, "worker/00-talconfig") == [{"machine": {"certSANs": ["w.lan"]}}]


def test_labels_of_a_control_plane_take_the_place_of_talos_own(tmp_path: Path) -> None:
    imported = do_import(tmp_path, talconfig(nodes={0: {"nodeLabels": {"a": "b"}}, 1: {"nodeLabels": {"a": "b"}}}))
    assert {"machine": {"nodeLabels": {EXCLUDED: DELETE}}} in patch(imported, "nodes/cp-1")
    assert "patches/nodes/w-1.yaml" not in imported.files
    kept = do_import(tmp_path, talconfig(nodes={0: {"nodeLabels": {EXCLUDED: ""}}}))
    assert "patches/nodes/cp-1.yaml" not in kept.files


class TestAddresses:
    def test_static_addresses_in_one_network_are_the_inventorys(self, tmp_path: Path) -> None:
        vip = {"vip": {"ip": "10.0.0.5"}}
        cluster = do_load(tmp_path, talconfig(nodes={0: static(11, **vip), 1: static(21, mtu=9000)}))
        network = cluster.network
        assert (str(network.node_cidr), str(network.gateway), str(network.vip)) == (
            "10.0.0.0/24", "10.0.0.1", "10.0.0.5",
        )  # fmt: skip
        assert [(node.interface, node.mtu) for node in cluster.nodes] == [("eth0", None), ("eth0", 9000)]

    @pytest.mark.parametrize(
        "other",
        [
            {"networkInterfaces": [{"interface": "eth0", "dhcp": True}]},
            static(21) | {"ipAddress": "10.9.9.9"},
            static(21, addresses=["10.0.0.21/16"]),
            static(21, addresses=["10.0.0.21/24", "10.0.0.22/24"]),
            static(21, addresses=["not an address"]),
            static(21, routes=[{"network": "0.0.0.0/0", "gateway": "10.0.0.254"}]),
            static(21, routes=[{"network": "0.0.0.0/0", "gateway": "10.0.0.1", "metric": 7}]),
            static(21, routes=[{"network": "10.1.0.0/16", "gateway": "10.0.0.1"}]),
            static(21, routes=[{"network": "0.0.0.0/0", "gateway": "10.0.0.1"},
                               {"network": "10.1.0.0/16", "gateway": "10.0.0.1", "source": "10.0.0.21"}]),
            static(21, deviceSelector={"hardwareAddr": "52:54:00:aa:00:01"}),
            static(21, interface="bond1", bond={"interfaces": ["a"], "mode": "802.3ad"}),
            static(21, interface="bond0", bond={"interfaces": ["a"], "mode": "802.3ad", "updelay": 5}),
            static(21, mtu=64),
            static(21, dhcpOptions={"routeMetric": 5}),
        ],
    )  # fmt: skip
    def test_if_one_node_needs_more_all_interfaces_are_patches(self, other: dict[str, Any], tmp_path: Path) -> None:
        imported = do_import(tmp_path, talconfig(nodes={0: static(11), 1: other}))
        assert "node_cidr" not in imported.files["cluster.yaml"]
        assert any(document.get("kind") == "LinkConfig" for document in patch(imported, "nodes/cp-1"))

    def test_further_interfaces_and_vlans_are_added_by_patches(self, tmp_path: Path) -> None:
        node = static(11, vlans=[{"vlanId": 7, "dhcp": True}])
        node["networkInterfaces"].append({"interface": "eth1", "addresses": ["10.7.0.1/24"]})
        imported = do_import(tmp_path, talconfig(nodes={0: node, 1: static(21)}))
        assert "node_cidr: 10.0.0.0/24" in imported.files["cluster.yaml"]
        kinds = {(document["kind"], document["name"]) for document in patch(imported, "nodes/cp-1")}
        assert kinds == {("VLANConfig", "eth0.7"), ("DHCPv4Config", "eth0.7"), ("LinkConfig", "eth1")}

    @pytest.mark.parametrize("vip", ["10.0.0.21", "10.0.0.1", "192.168.0.1"])
    def test_a_vip_that_an_inventory_would_refuse_is_a_patch(self, vip: str, tmp_path: Path) -> None:
        imported = do_import(tmp_path, talconfig(nodes={0: static(11, vip={"ip": vip}), 1: static(21)}))
        assert "vip:" not in imported.files["cluster.yaml"]
        document = {"apiVersion": "v1alpha1", "kind": "Layer2VIPConfig", "name": vip, "link": "eth0"}
        assert document in patch(imported, "nodes/cp-1")

    def test_the_same_up_to_talos_1_11_adds_to_the_interface(self, tmp_path: Path) -> None:
        versions = {"talosVersion": "v1.11.5", "kubernetesVersion": "v1.34.1"}
        node = static(11, vip={"ip": "192.168.0.1"}, vlans=[{"vlanId": 7}])
        imported = do_import(tmp_path, talconfig(nodes={0: node, 1: static(21)}, **versions))
        added = {"interface": "eth0", "vlans": [{"vlanId": 7}], "vip": {"ip": "192.168.0.1"}}
        assert {"machine": {"network": {"interfaces": [added]}}} in patch(imported, "nodes/cp-1")

    def test_a_node_that_is_only_known_by_name_is_told(self, tmp_path: Path) -> None:
        imported = do_import(tmp_path, talconfig(nodes={1: {"ipAddress": "w-1.lan"}}))
        (remark,) = left_out(imported)
        assert (remark.path, remark.what) == ("nodes[1].ipAddress", "the node has no IP address")
        with pytest.raises(TalosmithError, match="`w-1` has no address"):
            write(tmp_path / "inventory", imported)

    def test_name_servers_that_differ_are_each_nodes_own(self, tmp_path: Path) -> None:
        same = do_import(
            tmp_path, talconfig(controlPlane={"nameservers": ["9.9.9.9"]}, worker={"nameservers": ["9.9.9.9"]})
        )
        assert "dns_servers:\n    - 9.9.9.9\n" in same.files["cluster.yaml"]
        other = do_import(tmp_path, talconfig(controlPlane={"nameservers": ["9.9.9.9"]}))
        assert "dns_servers" not in other.files["cluster.yaml"]
        assert patch(other, "controlplane/01-talconfig")[0]["nameservers"] == [{"address": "9.9.9.9"}]


class TestImages:
    EXTENSIONS = {"customization": {"systemExtensions": {"officialExtensions": ["siderolabs/i915"]}}}

    def test_a_plain_image_comes_from_the_factory_as_talhelpers_do(self, tmp_path: Path) -> None:
        cluster = do_load(tmp_path, talconfig())
        assert {node.image.schematic for node in cluster.nodes} == {PLAIN_SCHEMATIC}

    def test_the_most_common_image_is_the_clusters(self, tmp_path: Path) -> None:
        data = talconfig(worker={"schematic": self.EXTENSIONS})
        data["nodes"].append(data["nodes"][1] | {"hostname": "w-2", "ipAddress": "10.0.0.22"})
        imported = do_import(tmp_path, data)
        assert yaml.safe_load(imported.files["cluster.yaml"])["image"] == {"extensions": ["siderolabs/i915"]}
        assert entry(imported, "cp-1")["schematic"] == PLAIN_SCHEMATIC
        assert "# The plain image, from the image factory.\n    schematic:" in imported.files["nodes.yaml"]
        assert "schematic" not in entry(imported, "w-1")

    def test_another_factory_and_secure_boot_for_all(self, tmp_path: Path) -> None:
        spec = {"machineSpec": {"secureboot": True}}
        imported = do_import(
            tmp_path, talconfig(imageFactory={"registryURL": "factory.lan"}, controlPlane=spec, worker=spec)
        )
        assert yaml.safe_load(imported.files["cluster.yaml"])["image"] == {
            "schematic": PLAIN_SCHEMATIC, "factory": "factory.lan", "secureboot": True,
        }  # fmt: skip

    def test_an_image_of_the_factory_by_its_name_is_its_schematic(self, tmp_path: Path) -> None:
        url = f"factory.talos.dev/installer-secureboot/{'a' * 64}"
        imported = do_import(tmp_path, talconfig(nodes={1: {"talosImageURL": url, "schematic": self.EXTENSIONS}}))
        assert entry(imported, "w-1")["schematic"] == "a" * 64
        assert entry(imported, "w-1")["secureboot"] is True
        assert [one.path for one in notes(imported)] == ["nodes[1].schematic"]

    def test_a_template_of_plain_fields_is_followed(self, tmp_path: Path) -> None:
        template = "{{ .RegistryURL }}/mine{{ if .Secureboot }}-safe{{ end }}/{{.Mode}}-{{ .ID }}:{{ .Version }}"
        imported = do_import(tmp_path, talconfig(imageFactory={"installerURLTmpl": template}))
        image = {"image": f"factory.talos.dev/mine/metal-{PLAIN_SCHEMATIC}:${{cluster.talos_version}}"}
        assert {"machine": {"install": image}} in patch(imported, "nodes/cp-1")

    def test_kernel_arguments_are_in_the_config_too_before_talos_1_12(self, tmp_path: Path) -> None:
        schematic = {"schematic": {"customization": {"extraKernelArgs": ["a=b"]}}}
        old: Any = {"talosVersion": "v1.11.5", "kubernetesVersion": "v1.34.1"}
        arguments = {"machine": {"install": {"extraKernelArgs": ["a=b"]}}}
        assert patch(do_import(tmp_path, talconfig(worker=schematic, **old)), "worker/00-talconfig") == [arguments]
        uki = schematic | {"machineSpec": {"useUKI": True}}
        for data in (talconfig(worker=schematic), talconfig(worker=uki, **old)):
            assert "patches/worker/00-talconfig.yaml" not in do_import(tmp_path, data).files


class TestCertificates:
    @pytest.mark.parametrize(
        ("talos", "kubernetes", "api", "machine", "patched"),
        [
            # The endpoint is written by talosmith from 1.12 on, by Talos' own form before.
            ("v1.13.4", "v1.35.2", ["10.0.0.5"], ["10.0.0.5"], (None, None)),
            ("v1.11.5", "v1.34.1", [], [], (None, None)),
            ("v1.11.5", "v1.34.1", ["a.lan"], ["a.lan"], (None, None)),
            ("v1.11.5", "v1.34.1", ["a.lan", "10.0.0.5"], ["a.lan"], (None, [["10.0.0.5"]])),
            ("v1.13.4", "v1.35.2", [], [], ([DELETE], [DELETE])),
            ("v1.13.4", "v1.35.2", ["a.lan"], ["10.0.0.5"], ([DELETE, ["10.0.0.5"]], [DELETE, ["a.lan"]])),
        ],
    )
    def test_names_are_talhelpers(
        self, talos: str, kubernetes: str, api: list[str], machine: list[str], patched: Any, tmp_path: Path
    ) -> None:
        imported = do_import(
            tmp_path,
            talconfig(
                talosVersion=talos,
                kubernetesVersion=kubernetes,
                additionalApiServerCertSans=api,
                additionalMachineCertSans=machine,
            ),
        )
        machine_patch, api_patch = "patches/global/00-as-talhelper.yaml", "patches/controlplane/00-as-talhelper.yaml"
        if patched[0] is None:
            assert machine_patch not in imported.files
        else:
            found = [document["machine"]["certSANs"] for document in patch(imported, "global/00-as-talhelper")]
            assert found == patched[0]
        if patched[1] is None:
            assert api_patch not in imported.files
        else:
            documents = patch(imported, "controlplane/00-as-talhelper")
            assert [document["cluster"]["apiServer"]["certSANs"] for document in documents] == patched[1]
