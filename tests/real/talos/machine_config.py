"""What a machine config must say so that a real node works in the lab, as config patches in the form of its Talos.

Container mode installs nothing, so a config needs no install disk; one that is named does no harm.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from talosmith.desired.bundle import Bundle
from talosmith.model.secret import Secret
from tests.real.talos.lab import Lab
from tests.real.talos.releases import NEWEST, Release

Patch = dict[str, Any]

_REGISTRIES = ("registry.k8s.io", "ghcr.io", "gcr.io", "docker.io")
_EVICTION = {"memory.available": "1Mi", "nodefs.available": "0%"}  # a disk that is nearly full does a test no harm


def of_its_own(bundle: Bundle) -> Bundle:
    """For a cluster that discovers no other: a lab has one discovery service, which remembers nodes that are gone."""
    own_id, own_secret = (base64.b64encode(secrets.token_bytes(32)).decode() for _ in range(2))
    return replace(bundle, cluster_id=own_id, cluster_secret=Secret(own_secret))


def patches(lab: Lab, release: Release = NEWEST, *, kubernetes: bool = False) -> Sequence[Patch]:
    """For every node, whatever its role. With Kubernetes call `lab.offer_kubernetes()`, too.

    Without Kubernetes a node has nothing to register with, and nothing to drain from.
    """
    mirror = lab.registry(kubernetes=kubernetes)
    if not release.is_split:
        kubelet = {"extraConfig": {"evictionHard": _EVICTION}} if kubernetes else {"skipNodeRegistration": True}
        mirrors = {name: {"endpoints": [mirror], "skipFallback": True} for name in _REGISTRIES}
        discovery = {"kubernetes": {"disabled": True}, "service": {"endpoint": lab.discovery}}
        return [
            {
                "machine": {"kubelet": kubelet, "registries": {"mirrors": mirrors}},
                "cluster": {"discovery": {"enabled": True, "registries": discovery}},
            }
        ]
    return [
        _document("DiscoveryServiceConfig", name="default", endpoint=lab.discovery),
        *(
            _document("RegistryMirrorConfig", name=name, endpoints=[{"url": mirror}], skipFallback=True)
            for name in _REGISTRIES
        ),
        _document("KubeletConfig", config={"evictionHard": _EVICTION})
        if kubernetes
        else _document("KubeNodeConfig", skipNodeRegistration=True),
    ]


def controlplane_patches(lab: Lab, release: Release = NEWEST) -> Sequence[Patch]:
    """For control planes, after `patches`: no more of Kubernetes than its API, and etcd on the nodes' own network.

    A CNI is none of Talos' business here: the launcher gives each node a plain one.
    """
    etcd = {"advertisedSubnets": [lab.network.subnet]}
    if not release.is_split:
        off = {"proxy": {"disabled": True}, "coreDNS": {"disabled": True}}
        return [{"cluster": {**off, "etcd": etcd, "network": {"cni": {"name": "none"}}}}]
    return [
        {"cluster": {"etcd": etcd}},
        _document("KubeProxyConfig", enabled=False),
        _document("KubeCoreDNSConfig", enabled=False),
        _document("KubeFlannelCNIConfig", **{"$patch": "delete"}),
    ]


def _document(kind: str, **fields: Any) -> Patch:
    return {"apiVersion": "v1alpha1", "kind": kind, **fields}
