"""Fresh machine configs for control planes and workers, equal to those of `talosctl gen config`.

Here is the main document; `generate_documents` has what stands beside it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from talosmith.desired.bundle import Bundle
from talosmith.desired.config.defaults import (
    AUDIT_POLICY,
    NOT_BEHIND_LOAD_BALANCERS,
    POD_SECURITY,
    POD_SUBNETS,
    SERVICE_SUBNETS,
    component_image,
    kubelet_image,
)
from talosmith.desired.config.emit import canonical
from talosmith.desired.config.generate_documents import documents
from talosmith.desired.config.schema.contracts import CONTRACTS, NEWEST, Contract
from talosmith.desired.config.schema.documents import API_VERSION
from talosmith.desired.config.schema.gourl import check_endpoint, parse_url
from talosmith.errors import UsageError

Role = Literal["controlplane", "worker"]


@dataclass(frozen=True, slots=True)
class Options:
    """What a cluster's configs are made from, besides its secrets."""

    cluster_name: str
    endpoint: str
    kubernetes_version: str
    install_image: str
    contract: Contract = CONTRACTS[NEWEST]
    install_disk: str = "/dev/sda"
    additional_sans: tuple[str, ...] = ()
    dns_domain: str = "cluster.local"
    pod_subnets: tuple[str, ...] = POD_SUBNETS
    service_subnets: tuple[str, ...] = SERVICE_SUBNETS
    registry_mirrors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kubespan: bool = False
    discovery: bool = True
    cni: Mapping[str, Any] | None = None  # cluster.network.cni; None leaves it to Talos, which takes flannel
    kube_proxy: bool = True
    kube_prism: bool = True
    allow_scheduling_on_control_planes: bool = False

    def __post_init__(self) -> None:
        try:
            check_endpoint(self.endpoint)
            secure = parse_url(self.endpoint).scheme == "https"
        except ValueError as error:
            raise UsageError(f"the endpoint {error}", hint="Give it like https://192.0.2.10:6443.") from None
        if not secure:
            raise UsageError("the endpoint is not an https:// address", hint="Give it like https://192.0.2.10:6443.")


def generate(role: Role, options: Options, bundle: Bundle) -> list[dict[str, Any]]:
    """The documents of a fresh config, the main one first."""
    secrets = bundle.to_mapping()
    controlplane = role == "controlplane"
    main = {
        "version": API_VERSION,
        "debug": False,
        "persist": True,
        "machine": _machine(role, options, secrets),
        "cluster": _cluster(options, secrets) | (_control_plane(options, secrets) if controlplane else {}),
    }
    return [canonical(document) for document in (main, *documents(options, secrets, controlplane=controlplane))]


def _machine(role: Role, options: Options, secrets: Mapping[str, Any]) -> dict[str, Any]:
    contract = options.contract
    machine: dict[str, Any] = {
        "type": role,
        "token": secrets["trustdinfo"]["token"],
        "ca": secrets["certs"]["os"] if role == "controlplane" else _public(secrets["certs"]["os"]),
        "certSANs": list(options.additional_sans),
        "features": dict(contract.features),
    }
    if contract.kubernetes_as_documents:
        return machine
    machine["kubelet"] = {
        "image": kubelet_image(options.kubernetes_version),
        "defaultRuntimeSeccompProfileEnabled": True,
        "disableManifestsDirectory": True,
    }
    machine["install"] = {
        "disk": options.install_disk,
        "image": options.install_image,
        "wipe": False,
        **contract.install,
    }
    if not options.kube_prism:
        machine["features"]["kubePrism"] = {**contract.features["kubePrism"], "enabled": False}
    if contract.network_section:
        machine["network"] = {}
    if options.kubespan and not contract.kubespan_as_document:
        machine["network"] = {"kubespan": {"enabled": True}}
    if not contract.mirrors_as_documents:
        machine["registries"] = {
            "mirrors": {host: {"endpoints": list(urls)} for host, urls in options.registry_mirrors.items()}
        }
    if role == "controlplane":
        machine["nodeLabels"] = {NOT_BEHIND_LOAD_BALANCERS: ""}
    return machine


def _cluster(options: Options, secrets: Mapping[str, Any]) -> dict[str, Any]:
    """What every node knows of its cluster."""
    if options.contract.kubernetes_as_documents:
        return {"token": secrets["secrets"]["bootstraptoken"]}
    return {
        "id": secrets["cluster"]["id"],
        "secret": secrets["cluster"]["secret"],
        "controlPlane": {"endpoint": str(parse_url(options.endpoint))},
        "clusterName": options.cluster_name,
        "network": {
            "cni": options.cni,
            "dnsDomain": options.dns_domain,
            "podSubnets": list(options.pod_subnets),
            "serviceSubnets": list(options.service_subnets),
        },
        "token": secrets["secrets"]["bootstraptoken"],
        "ca": _public(secrets["certs"]["k8s"]),
        "discovery": {"enabled": options.discovery, "registries": {"kubernetes": {"disabled": True}}},
    }


def _control_plane(options: Options, secrets: Mapping[str, Any]) -> dict[str, Any]:
    """What only control planes know."""
    certs, contract, version = secrets["certs"], options.contract, options.kubernetes_version
    if contract.kubernetes_as_documents:
        return {"etcd": {"ca": certs["etcd"]}}
    host = (parse_url(options.endpoint).hostname,) if contract.endpoint_in_sans else ()
    return {
        # A cluster made before Talos 1.3 has the older kind of encryption secret and needs it to read its etcd.
        "aescbcEncryptionSecret": secrets["secrets"].get("aescbcencryptionsecret"),
        "secretboxEncryptionSecret": secrets["secrets"].get("secretboxencryptionsecret"),
        "ca": certs["k8s"],
        "aggregatorCA": certs["k8saggregator"],
        "serviceAccount": certs["k8sserviceaccount"],
        "apiServer": {
            "image": component_image("kube-apiserver", version),
            "certSANs": [*host, *options.additional_sans],
            **contract.api_server,
            "admissionControl": [POD_SECURITY],
            "auditPolicy": AUDIT_POLICY,
        },
        "controllerManager": {"image": component_image("kube-controller-manager", version)},
        "proxy": {"disabled": None if options.kube_proxy else True, "image": component_image("kube-proxy", version)},
        "scheduler": {"image": component_image("kube-scheduler", version)},
        "etcd": {"ca": certs["etcd"]},
        "allowSchedulingOnControlPlanes": True if options.allow_scheduling_on_control_planes else None,
    }


def _public(pair: Mapping[str, str]) -> dict[str, str]:
    return {"crt": pair["crt"], "key": ""}
