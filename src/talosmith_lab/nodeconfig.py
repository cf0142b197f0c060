"""What a simulated node reads out of its machine config."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from talosmith.desired.config.load import load
from talosmith.desired.config.schema.documents import Document
from talosmith.desired.pki import CertificateAndKey
from talosmith.model.secret import Secret

_LINKS = ("LinkConfig", "BondConfig", "BridgeConfig", "VLANConfig", "DummyLinkConfig", "VRFConfig", "WireguardConfig")
_VIPS = ("Layer2VIPConfig", "HCloudVIPConfig")
NODE_IMAGES = {
    "kubelet": ("machine", "kubelet"),
    "kube-apiserver": ("cluster", "apiServer"),
    "kube-controller-manager": ("cluster", "controllerManager"),
    "kube-scheduler": ("cluster", "scheduler"),
}
_NO_KEY = Secret("")


@dataclass(frozen=True, slots=True)
class Address:
    link: str
    prefix: str  # 192.0.2.11/24


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeConfig:
    """A `complete` config holds a main document, and a node boots with it. Others only add to maintenance mode."""

    complete: bool
    role: str = ""
    hostname: str = ""  # empty: made from the machine
    hostname_by_address: bool = False
    cluster_id: str = ""
    cluster_name: str = ""
    endpoint: str = ""
    authority: CertificateAndKey | None = field(default=None, repr=False)  # without a key on workers
    accepted: tuple[str, ...] = field(default=(), repr=False)  # further authorities, PEM
    cert_sans: tuple[str, ...] = ()
    kubernetes_authority: CertificateAndKey | None = field(default=None, repr=False)
    kubernetes_accepted: tuple[str, ...] = field(default=(), repr=False)  # further authorities, PEM
    api_sans: tuple[str, ...] = ()  # further names of the Kubernetes API
    service_account_key: Secret = field(default=_NO_KEY, repr=False)
    addresses: tuple[Address, ...] = ()
    vips: tuple[str, ...] = ()
    install: Mapping[str, Any] = field(default_factory=dict)
    images: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    nameservers: tuple[str, ...] = ()
    time_servers: tuple[str, ...] = ()
    discovery: bool = True
    cni: str = "flannel"
    proxy: bool = True
    core_dns: bool = True
    skip_node_registration: bool = False
    component_version: str = ""  # of all that the control plane's static pods are made from

    @property
    def is_controlplane(self) -> bool:
        return self.role == "controlplane"


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@lru_cache(maxsize=64)
def documents_of(text: str) -> tuple[Document, ...]:
    """Raises `ConfigError` for what Talos cannot load."""
    return tuple(load(text))


@lru_cache(maxsize=4096)
def read(text: str) -> NodeConfig:
    documents = documents_of(text)
    main: Mapping[str, Any] = next((document for document in documents if "kind" not in document), {})
    others = [document for document in documents if "kind" in document]
    machine, cluster = main.get("machine") or {}, main.get("cluster") or {}
    network = machine.get("network") or {}
    name, by_address = _hostname(network, machine, others)
    discovery = cluster.get("discovery") or {}
    service = (discovery.get("registries") or {}).get("service") or {}
    return NodeConfig(
        complete=bool(machine and cluster),
        role=_role(machine) if machine else "",
        hostname=name,
        hostname_by_address=by_address,
        cluster_id=cluster.get("id") or "",
        cluster_name=cluster.get("clusterName") or "",
        endpoint=(cluster.get("controlPlane") or {}).get("endpoint") or "",
        authority=_pair(machine.get("ca")),
        accepted=tuple(_pem(one.get("crt")) for one in machine.get("acceptedCAs") or ()),
        cert_sans=tuple(machine.get("certSANs") or ()),
        kubernetes_authority=_pair(cluster.get("ca")),
        kubernetes_accepted=tuple(_pem(one.get("crt")) for one in cluster.get("acceptedCAs") or ()),
        api_sans=tuple((cluster.get("apiServer") or {}).get("certSANs") or ()),
        service_account_key=Secret(_pem((cluster.get("serviceAccount") or {}).get("key"))),
        addresses=tuple(_addresses(network, others)),
        vips=tuple(_vips(network, others)),
        install=machine.get("install") or {},
        images=_images(main),
        labels=machine.get("nodeLabels") or {},
        nameservers=tuple(_nameservers(network, others)),
        time_servers=tuple(_time_servers(machine, others)),
        discovery=bool(discovery.get("enabled")) and not service.get("disabled"),
        cni=((cluster.get("network") or {}).get("cni") or {}).get("name") or "flannel",
        proxy=not (cluster.get("proxy") or {}).get("disabled"),
        core_dns=not (cluster.get("coreDNS") or {}).get("disabled"),
        skip_node_registration=bool((machine.get("kubelet") or {}).get("skipNodeRegistration")),
        component_version=digest_of(json.dumps(cluster, sort_keys=True, default=str))[:8],
    )


def _role(machine: Mapping[str, Any]) -> str:
    return "controlplane" if machine.get("type") in ("controlplane", "init") else "worker"


def _hostname(network: Mapping[str, Any], machine: Mapping[str, Any], others: Sequence[Document]) -> tuple[str, bool]:
    document = next((one for one in others if one["kind"] == "HostnameConfig"), {})
    name = document.get("hostname") or network.get("hostname") or ""
    stable = document.get("auto") == "stable" or bool((machine.get("features") or {}).get("stableHostname"))
    return name, not name and not stable


def _addresses(network: Mapping[str, Any], others: Sequence[Document]) -> Iterator[Address]:
    for document in others:
        if document["kind"] in _LINKS:
            for one in document.get("addresses") or ():
                yield Address(document.get("name") or "", str(one.get("address")))
    for interface in network.get("interfaces") or ():
        link = interface.get("interface") or "eth0"
        for prefix in (*(interface.get("addresses") or ()), *([interface["cidr"]] if interface.get("cidr") else ())):
            yield Address(link, str(prefix))
        for vlan in interface.get("vlans") or ():
            for prefix in vlan.get("addresses") or ():
                yield Address(f"{link}.{vlan.get('vlanId')}", str(prefix))


def _vips(network: Mapping[str, Any], others: Sequence[Document]) -> Iterator[str]:
    for document in others:
        if document["kind"] in _VIPS:
            yield str(document.get("name"))
    for interface in network.get("interfaces") or ():
        for part in (interface, *(interface.get("vlans") or ())):
            if (part.get("vip") or {}).get("ip"):
                yield str(part["vip"]["ip"])


def _images(main: Mapping[str, Any]) -> dict[str, str]:
    found = {
        name: ((main.get(section) or {}).get(part) or {}).get("image") or ""
        for name, (section, part) in NODE_IMAGES.items()
    }
    return {name: image for name, image in found.items() if image}


def _nameservers(network: Mapping[str, Any], others: Sequence[Document]) -> list[str]:
    document = next((one for one in others if one["kind"] == "ResolverConfig"), {})
    given = [str(one.get("address")) for one in document.get("nameservers") or ()]
    return given or [str(one) for one in network.get("nameservers") or ()] or ["1.1.1.1", "8.8.8.8"]


def _time_servers(machine: Mapping[str, Any], others: Sequence[Document]) -> list[str]:
    document = next((one for one in others if one["kind"] == "TimeSyncConfig"), {})
    given = (document.get("ntp") or {}).get("servers") or (machine.get("time") or {}).get("servers")
    return [str(one) for one in given or ["time.cloudflare.com"]]


def _pair(value: Mapping[str, Any] | None) -> CertificateAndKey | None:
    if not value or not value.get("crt"):
        return None
    return CertificateAndKey(_pem(value["crt"]), Secret(_pem(value.get("key") or "")))


def _pem(value: str | None) -> str:
    return base64.b64decode(value or "").decode()
