"""Talconfigs with many nodes, each a random choice of what a talconfig can say; the seed makes them repeatable."""

from __future__ import annotations

import random
from typing import Any

VERSIONS = {
    "v1.8.3": "v1.31.2",
    "v1.9.5": "v1.32.3",
    "v1.10.6": "v1.33.1",
    "v1.11.5": "v1.33.4",
    "v1.12.5": "v1.35.1",
    "v1.13.4": "v1.35.2",
}
VIP = "10.0.0.5"
EXCLUDED = "node.kubernetes.io/exclude-from-external-load-balancers"
MATCH = 'disk.transport == "nvme"'
PATCHES = (
    'machine:\n  env:\n    A: "{0}"\n',
    'machine:\n  sysctls:\n    s: "{0}"\n',
    "machine:\n  kubelet:\n    nodeIP:\n      validSubnets: [10.0.0.0/8]\n",
    'machine:\n  nodeLabels:\n    z: "{0}"\n',
    "machine:\n  certSANs: [{0}.patch]\n",
    "machine:\n  install:\n    wipe: true\n",
    "@patch.yaml",
)
FILES = {"talenv.yaml": "V: value\n", "patch.yaml": "machine:\n  env:\n    P: ${V} # not $COMMENT\n"}

# What may be said of a node or a group, and how often.
SETTINGS: dict[str, tuple[float, list[Any]]] = {
    "nodeLabels": (0.3, [{}, {"a": "b"}, {"rack": 1, "x.io/y": ""}, {EXCLUDED: ""}]),
    "nodeAnnotations": (0.2, [{"x.io/a": "some text $$HOME"}]),
    "nodeTaints": (0.2, [{"a": "NoSchedule"}, {"b": "c:NoExecute"}, {}]),
    "machineFiles": (0.2, [[{"content": "a ${V} $${W}\n", "permissions": 0o640, "path": "/var/a", "op": "create"}]]),
    "disableSearchDomain": (0.2, [True, False]),
    "kernelModules": (0.2, [[{"name": "nbd"}], [{"name": "a", "parameters": ["b=1"]}], []]),
    "nameservers": (0.3, [["1.1.1.1"], ["1.1.1.1", "fd00::1"], []]),
    "certSANs": (0.3, [["a.lan"], ["b.lan", "10.1.1.1"], []]),
    "schematic": (
        0.3,
        [
            {},
            {"customization": {"extraKernelArgs": ["x=y"]}},
            {"customization": {"systemExtensions": {"officialExtensions": ["siderolabs/iscsi-tools"]}}},
            {"customization": {"secureboot": {"includeWellKnownCertificates": True}}},
        ],
    ),
    "machineSpec": (
        0.3,
        [{"secureboot": True}, {"arch": "arm64"}, {"useUKI": True, "secureboot": True}, {"mode": "nocloud"}, {}],
    ),
    "talosImageURL": (0.1, ["ghcr.io/siderolabs/installer", f"factory.talos.dev/metal-installer/{'ab' * 32}"]),
    "ingressFirewall": (
        0.2,
        [
            {"defaultAction": "block"},
            {
                "rules": [
                    {
                        "name": "r",
                        "portSelector": {"ports": [1, "5-6"], "protocol": "udp"},
                        "ingress": [{"subnet": "10.0.0.0/8"}],
                    }
                ]
            },
        ],
    ),
    "extensionServices": (0.15, [[{"name": "e", "environment": ["A=b"]}]]),
    "volumes": (0.15, [[{"name": "EPHEMERAL", "provisioning": {"maxSize": "50GiB"}}]]),
    "userVolumes": (
        0.25,
        [
            [{"name": "data", "provisioning": {"diskSelector": {"match": MATCH}, "minSize": "50GiB"}}],
            [{"name": "data", "provisioning": {"diskSelector": {"match": MATCH}, "maxSize": "50GB"}}],
        ],
    ),
    "machineDisks": (0.05, [[{"device": "/dev/sdz", "partitions": [{"mountpoint": "/var/mnt/z"}]}]]),
}
CLUSTER: dict[str, tuple[float, list[Any]]] = {
    "domain": (0.3, ["k8s.lan"]),
    "allowSchedulingOnControlPlanes": (0.5, [True]),
    "additionalMachineCertSans": (0.5, [[VIP], ["m.lan"]]),
    "additionalApiServerCertSans": (0.5, [[VIP], ["api.lan", "127.0.0.1"]]),
    "clusterPodNets": (0.4, [["10.42.0.0/16"], ["10.42.0.0/16", "fd42::/56"]]),
    "clusterSvcNets": (0.3, [["10.43.0.0/16"]]),
    "cniConfig": (
        0.5,
        [
            {"name": "none"},
            {"name": "flannel", "flannel": {"extraArgs": ["--iface=eth0"]}},
            {"name": "custom", "urls": ["https://example.org/cni.yaml"]},
        ],
    ),
    "inlineManifests": (0.3, [[{"name": "m", "contents": "apiVersion: v1\nkind: Namespace\n"}]]),
}


def generate(seed: int, talos: str, *, static: bool) -> dict[str, Any]:
    """`static`: all nodes have a card with a static address, so that the inventory can say them itself."""
    dice = random.Random(seed)  # noqa: S311 - nothing here is a secret
    made: dict[str, Any] = {
        "clusterName": dice.choice(["home", "Home_1"]),
        "talosVersion": talos,
        "kubernetesVersion": VERSIONS[talos],
        "endpoint": dice.choice([f"https://{VIP}:6443", "https://k8s.example.org:6443"]),
        **_some(dice, CLUSTER),
        "patches": _patches(dice, "global"),
    }
    # With three control planes the VIP is all of theirs or nobody's.
    has_vip = dice.random() < 0.7
    made["nodes"] = [
        _node(dice, number, controlplane=number < 3, vip=has_vip and number < 3, static=static) for number in range(9)
    ]
    for group in ("controlPlane", "worker"):
        if dice.random() < 0.6:
            made[group] = _settings(dice, group)
    if talos.startswith(("v1.8.", "v1.9.")):  # talhelper writes the document all the same, which these refuse
        for one in (*made["nodes"], made.get("controlPlane", {}), made.get("worker", {})):
            one.pop("userVolumes", None)
    return made


def _some(dice: random.Random, table: dict[str, tuple[float, list[Any]]]) -> dict[str, Any]:
    return {key: dice.choice(values) for key, (chance, values) in table.items() if dice.random() < chance}


def _settings(dice: random.Random, scope: str) -> dict[str, Any]:
    return _some(dice, SETTINGS) | ({"patches": _patches(dice, scope)} if dice.random() < 0.4 else {})


def _patches(dice: random.Random, scope: str) -> list[str]:
    return [text.format(scope) if "{0}" in text else text for text in dice.sample(PATCHES, dice.randint(0, 3))]


def _node(dice: random.Random, number: int, *, controlplane: bool, vip: bool, static: bool) -> dict[str, Any]:
    address = f"10.0.0.{11 + number}"
    name = f"{'cp' if controlplane else 'w'}-{number}"
    node: dict[str, Any] = {
        "hostname": name + dice.choice(["", "", "", ".lan"]),
        "ipAddress": address,
        "controlPlane": controlplane,
        **_settings(dice, name),
    }
    if dice.random() < 0.7:
        node["installDisk"] = "/dev/sda"
    else:
        node["installDiskSelector"] = dice.choice([{"serial": "ABC123"}, {"size": ">= 100GB", "type": "ssd"}])
    for key in ("ignoreHostname", "overridePatches", "overrideMachineCertSANs"):
        if dice.random() < 0.15:
            node[key] = True
    node["networkInterfaces"] = _interfaces(dice, address, vip=vip, static=static)
    return node


def _interfaces(dice: random.Random, address: str, *, vip: bool, static: bool) -> list[dict[str, Any]]:
    addressed: dict[str, Any] = {
        "addresses": [f"{address}/24"],
        "routes": [{"network": "0.0.0.0/0", "gateway": "10.0.0.1"}],
        **({"vip": {"ip": VIP}} if vip else {}),
    }
    kinds: list[list[dict[str, Any]]] = [
        [{"interface": "eth0", "mtu": 9000, **addressed}],
        [
            {"interface": "eth0", **addressed, "vlans": [{"vlanId": 7, "dhcp": True}]},
            {"interface": "eth1", "dhcp": True},
        ],
        [{"interface": "eth0", "vlans": [{"vlanId": 5, **addressed}]}],
        [
            {
                "interface": "bond0",
                "bond": {"interfaces": ["eth0"], "mode": "active-backup", "miimon": 100},
                **addressed,
            }
        ],
    ]
    if not static:
        selector = {"hardwareAddr": f"52:54:00:00:00:{int(address.split('.')[-1]):02x}"}
        kinds += [
            [{"deviceSelector": selector, "dhcp": True}],
            [{"interface": "br0", "bridge": {"interfaces": ["eth0"]}, **addressed}],
            [],
        ]
    return dice.choice(kinds)
