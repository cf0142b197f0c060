"""What a machine config must say so that a real node works in the lab, as plain data for a config patch."""

from __future__ import annotations

import base64
import secrets
from dataclasses import replace
from typing import Any

from talosmith.desired.bundle import Bundle
from talosmith.model.secret import Secret
from tests.real.talos.lab import Lab
from tools.peers.node_recipes import KUBERNETES_VERSION

_REGISTRIES = ("registry.k8s.io", "ghcr.io", "gcr.io", "docker.io")


def of_its_own(bundle: Bundle) -> Bundle:
    """For a cluster that discovers no other: a lab has one discovery service, which remembers nodes that are gone."""
    own_id, own_secret = (base64.b64encode(secrets.token_bytes(32)).decode() for _ in range(2))
    return replace(bundle, cluster_id=own_id, cluster_secret=Secret(own_secret))


def patch(lab: Lab, *, kubernetes: bool = False) -> dict[str, Any]:
    """For every node, whatever its role. With Kubernetes call `lab.offer_kubernetes()`, too.

    Container mode installs nothing, so the config needs no install disk; one that is named does no harm.
    """
    kubelet: dict[str, Any] = {"image": f"ghcr.io/siderolabs/kubelet:{KUBERNETES_VERSION}"}
    if kubernetes:  # the machine's disk may be nearly full without harm to a test
        kubelet["extraConfig"] = {"evictionHard": {"memory.available": "1Mi", "nodefs.available": "0%"}}
    else:  # nothing to register with, and nothing to drain from
        kubelet["skipNodeRegistration"] = True
    mirror = {"endpoints": [lab.registry(kubernetes=kubernetes)], "skipFallback": True}
    return {
        "machine": {"kubelet": kubelet, "registries": {"mirrors": dict.fromkeys(_REGISTRIES, mirror)}},
        "cluster": {
            "network": {"cni": {"name": "none"}},  # the launcher gives each node a plain one
            "discovery": {
                "enabled": True,
                "registries": {"kubernetes": {"disabled": True}, "service": {"endpoint": lab.discovery}},
            },
        },
    }


def controlplane_patch(lab: Lab) -> dict[str, Any]:
    """For control planes, after `patch`: no more of Kubernetes than its API, and etcd on the nodes' own network."""
    parts = {
        "apiServer": "kube-apiserver",
        "controllerManager": "kube-controller-manager",
        "scheduler": "kube-scheduler",
    }
    return {
        "cluster": {
            **{key: {"image": f"registry.k8s.io/{name}:{KUBERNETES_VERSION}"} for key, name in parts.items()},
            "proxy": {"disabled": True},
            "coreDNS": {"disabled": True},
            "etcd": {"advertisedSubnets": [lab.network.subnet]},
        }
    }
