"""What a simulated node reads out of its machine config, in whichever form that is written.

What v1alpha1 fields and documents say alike is read by `meaning`, as the product reads it. Links and VIPs are read
here: no other code asks for them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from talosmith.desired.config.load import load
from talosmith.desired.config.meaning import Meaning, meaning
from talosmith.desired.config.schema.documents import Document
from talosmith.desired.pki import CertificateAndKey
from talosmith.model.secret import Secret

_LINKS = (
    "LinkConfig", "BondConfig", "BridgeConfig", "VLANConfig", "DummyLinkConfig", "VethConfig", "VRFConfig",
    "WireguardConfig",
)  # fmt: skip
_VIPS = ("Layer2VIPConfig", "HCloudVIPConfig")
NODE_IMAGES = ("kubelet", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
SYSTEM_VOLUMES = ("ETCD", "CRI", "KUBELET", "LOG")  # on EPHEMERAL, unless a VolumeConfig gives them a partition
# What the static pods of a control plane are made from.
_COMPONENTS = (
    "api_server", "authentication", "authorizers", "admission_control", "audit_policy", "controller_manager",
    "scheduler", "etcd_encryption", "service_account", "kubernetes_ca", "aggregator_ca", "network", "cluster",
)  # fmt: skip
_NO_KEY = Secret("")


@dataclass(frozen=True, slots=True)
class Address:
    link: str
    prefix: str  # 192.0.2.11/24


@dataclass(frozen=True, slots=True)
class Install:
    """How Talos is to be installed."""

    image: str
    match: str  # an expression that selects the disk
    unattended: bool  # by a document: the node boots meanwhile, where `machine.install` has a sequence of its own
    reboot: bool  # afterwards


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
    install: Install | None = None  # none: Talos installs nothing by itself
    volumes: tuple[str, ...] = ()  # system volumes with partitions of their own
    images: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    nameservers: tuple[str, ...] = ()
    time_servers: tuple[str, ...] = ()
    discovery: bool = True
    cni: str = "flannel"
    proxy: bool = True
    core_dns: bool = True
    skip_node_registration: bool = False
    sandbox: bool = False  # CRI and kubelet run apart from Talos
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


@lru_cache(maxsize=256)
def meaning_of(text: str) -> Meaning:
    """What a config says, whichever form it is written in; raises `ConfigError`."""
    return meaning(documents_of(text))


@lru_cache(maxsize=4096)
def read(text: str) -> NodeConfig:
    documents, said = documents_of(text), meaning_of(text)
    main: Mapping[str, Any] = next((document for document in documents if "kind" not in document), {})
    others = [document for document in documents if "kind" in document]
    network = (main.get("machine") or {}).get("network") or {}
    complete = said.complete
    return NodeConfig(
        complete=complete,
        role=said.role if complete else "",
        hostname=said.hostname,
        hostname_by_address=not said.hostname and said.hostname_auto != "stable",
        cluster_id=said.cluster_id,
        cluster_name=said.cluster_name,
        endpoint=said.endpoint,
        authority=pair_of(said.os_ca),
        accepted=said.os_accepted_cas,
        cert_sans=said.cert_sans,
        kubernetes_authority=pair_of(said.kubernetes_ca),
        kubernetes_accepted=said.kubernetes_accepted_cas,
        api_sans=said.api_server_sans,
        service_account_key=Secret(said.service_account_key),
        addresses=tuple(_addresses(network, others)),
        vips=tuple(_vips(network, others)),
        install=_install(said, others),
        volumes=tuple(_volumes(others)),
        images={name: said.images[name] for name in NODE_IMAGES if name in said.images},
        labels=said.labels,
        nameservers=said.nameservers or ("1.1.1.1", "8.8.8.8"),
        time_servers=said.time_servers or ("time.cloudflare.com",),
        discovery=said.discovery,
        cni=said.cni,
        proxy=said.proxy_enabled,
        core_dns=said.core_dns_enabled,
        skip_node_registration=said.skip_node_registration,
        sandbox=any(one["kind"] == "SecurityProfileConfig" and one.get("workloadIsolation") for one in others),
        component_version=_component_version(said) if complete and said.is_controlplane else "",
    )


def pair_of(value: Mapping[str, str] | None) -> CertificateAndKey | None:
    """A certificate with its key, as `meaning` has them."""
    return CertificateAndKey(value["cert"], Secret(value["key"])) if value and value["cert"] else None


def _component_version(said: Meaning) -> str:
    sections = {name: said.section(name) for name in _COMPONENTS}
    return digest_of(json.dumps(sections, sort_keys=True, default=str))[:8]


def _install(said: Meaning, others: Sequence[Document]) -> Install | None:
    given = said.install
    if given is None:
        return None
    unattended = any(one["kind"] == "UnattendedInstallConfig" for one in others)
    reboot = given["reboot"]
    return Install(
        given["image"],
        given["match"],
        unattended,
        bool(given["image"]) if reboot is None and unattended else reboot is not False,
    )


def _volumes(others: Sequence[Document]) -> Iterator[str]:
    for one in others:
        if one["kind"] == "VolumeConfig" and one.get("name") in SYSTEM_VOLUMES:
            asked = one.get("provisioning") or {}
            if (asked.get("diskSelector") or {}).get("match") or any(
                asked.get(key) not in (None, "") for key in ("grow", "minSize", "maxSize")
            ):
                yield str(one["name"])


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
