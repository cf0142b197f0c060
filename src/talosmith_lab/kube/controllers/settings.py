"""What Kubernetes' nodes and Talos' own manifests take from a machine config."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from talosmith.model.versions import RECOMMENDED
from talosmith_lab.machine import Machine
from talosmith_lab.nodeconfig import documents_of
from talosmith_lab.world import World

CORE_DNS = "registry.k8s.io/coredns/coredns:v1.14.6"
FLANNEL = "ghcr.io/siderolabs/flannel:0.28.8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: Mapping[str, str] = field(default_factory=dict)
    schedulable: bool = False  # control planes take pods too
    pod_subnet: str = "10.244.0.0/16"
    service_subnet: str = "10.96.0.0/12"
    domain: str = "cluster.local"
    kubelet: str = ""  # images
    proxy: str = ""
    core_dns: str = CORE_DNS
    rotates_certificates: bool = False  # the kubelet asks the API for the certificate it serves with
    disabled: tuple[str, ...] = ()  # static pods that do not run
    external_cloud: bool = False  # a cloud controller manager initialises nodes
    talos_api_access: bool = False  # pods may use the Talos API by a ServiceAccount of talos.dev

    @property
    def dns_address(self) -> str:
        return str(ipaddress.ip_network(self.service_subnet)[10])


def settings_of(world: World, machine: Machine) -> Settings:
    digest = machine.run.config if machine.run else ""
    return _read(world.texts[digest]) if digest else Settings()


@lru_cache(maxsize=4096)
def _read(text: str) -> Settings:
    main: Mapping[str, Any] = next((one for one in documents_of(text) if "kind" not in one), {})
    machine, cluster = main.get("machine") or {}, main.get("cluster") or {}
    network, kubelet = cluster.get("network") or {}, machine.get("kubelet") or {}
    parts = machine.get("controlPlane") or {}
    off = {
        "kube-controller-manager": (parts.get("controllerManager") or {}).get("disabled"),
        "kube-scheduler": (parts.get("scheduler") or {}).get("disabled"),
    }
    arguments = kubelet.get("extraArgs") or {}
    return Settings(
        labels=machine.get("nodeLabels") or {},
        annotations=machine.get("nodeAnnotations") or {},
        taints=machine.get("nodeTaints") or {},
        schedulable=bool(cluster.get("allowSchedulingOnControlPlanes")),
        pod_subnet=str((network.get("podSubnets") or ["10.244.0.0/16"])[0]),
        service_subnet=str((network.get("serviceSubnets") or ["10.96.0.0/12"])[0]),
        domain=network.get("dnsDomain") or "cluster.local",
        kubelet=kubelet.get("image") or "",
        proxy=(cluster.get("proxy") or {}).get("image") or f"registry.k8s.io/kube-proxy:{RECOMMENDED.kubernetes}",
        core_dns=(cluster.get("coreDNS") or {}).get("image") or CORE_DNS,
        rotates_certificates=str(arguments.get("rotate-server-certificates")).lower() == "true",
        disabled=tuple(name for name, disabled in off.items() if disabled),
        external_cloud=bool((cluster.get("externalCloudProvider") or {}).get("enabled"))
        or arguments.get("cloud-provider") == "external",
        talos_api_access=bool(_feature(machine, "kubernetesTalosAPIAccess").get("enabled")),
    )


def _feature(machine: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return (machine.get("features") or {}).get(name) or {}


def tag(image: str) -> str:
    """The version in an image, without the words that name its size."""
    return image.partition("@")[0].rpartition(":")[2].removesuffix("-fat").removesuffix("-slim")
