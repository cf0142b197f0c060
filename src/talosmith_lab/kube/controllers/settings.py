"""What Kubernetes' nodes and Talos' own manifests take from a machine config."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from talosmith.model.versions import RECOMMENDED
from talosmith_lab.machine import Machine
from talosmith_lab.nodeconfig import documents_of, meaning_of
from talosmith_lab.versions import line_of
from talosmith_lab.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: Mapping[str, str] = field(default_factory=dict)
    pod_subnet: str = "10.244.0.0/16"
    service_subnet: str = "10.96.0.0/12"
    domain: str = "cluster.local"
    kubelet: str = ""  # images
    proxy: str = ""
    core_dns: str = ""
    flannel: str = ""
    rotates_certificates: bool = False  # the kubelet asks the API for the certificate it serves with
    disabled: tuple[str, ...] = ()  # static pods that do not run
    external_cloud: bool = False  # a cloud controller manager initialises nodes
    talos_api_access: bool = False  # pods may use the Talos API by a ServiceAccount of talos.dev

    @property
    def dns_address(self) -> str:
        return str(ipaddress.ip_network(self.service_subnet)[10])


def settings_of(world: World, machine: Machine) -> Settings:
    run = machine.run
    return _read(world.texts[run.config], run.version) if run is not None and run.config else Settings()


@lru_cache(maxsize=4096)
def _read(text: str, talos: str) -> Settings:
    said, line = meaning_of(text), line_of(talos)
    network, kubelet = said.section("network") or {}, said.section("kubelet")
    on = {
        "kube-controller-manager": said.controller_manager_enabled,
        "kube-scheduler": said.scheduler_enabled,
    }
    arguments = kubelet["extraArgs"]
    main: Mapping[str, Any] = next((one for one in documents_of(text) if "kind" not in one), {})
    cloud = (main.get("cluster") or {}).get("externalCloudProvider") or {}
    return Settings(
        labels=said.labels,
        annotations=said.annotations,
        taints=said.taints,
        pod_subnet=str((network.get("podSubnets") or ["10.244.0.0/16"])[0]),
        service_subnet=str((network.get("serviceSubnets") or ["10.96.0.0/12"])[0]),
        domain=network.get("dnsDomain") or "cluster.local",
        kubelet=kubelet["image"],
        proxy=said.images.get("kube-proxy") or f"registry.k8s.io/kube-proxy:{RECOMMENDED.kubernetes}",
        core_dns=said.images.get("coredns") or f"registry.k8s.io/coredns/coredns:{line.core_dns}",
        flannel=f"ghcr.io/siderolabs/flannel:{line.flannel}",
        rotates_certificates=_last(arguments, "rotate-server-certificates").lower() == "true",
        disabled=tuple(name for name, enabled in on.items() if not enabled),
        external_cloud=bool(cloud.get("enabled")) or _last(arguments, "cloud-provider") == "external",
        talos_api_access=said.section("talos_api_access") is not None,
    )


def _last(arguments: Mapping[str, Any], name: str) -> str:
    values = arguments.get(name) or [""]
    return str(values[-1])


def tag(image: str) -> str:
    """The version in an image, without the words that name its size."""
    return image.partition("@")[0].rpartition(":")[2].removesuffix("-fat").removesuffix("-slim")
