"""What the inventory says of one node, and of all nodes, as patches over a fresh config."""

from __future__ import annotations

from typing import Any

from talosmith.desired.config.schema.contracts import Contract
from talosmith.desired.images import ImageRequest
from talosmith.desired.machine.links import (
    SINCE_DOCUMENTS,
    network_documents,
    network_section,
    old_resolver_fields,
    resolver_documents,
)
from talosmith.desired.machine.storage import storage_documents, storage_fields
from talosmith.model.cluster import Cluster, Node, Role
from talosmith.model.versions import Version

Document = dict[str, Any]


def node_documents(cluster: Cluster, node: Node, contract: Contract) -> list[Document]:
    """The main document's fields first, then what stands beside it."""
    talos = contract.version
    machine = storage_fields(node, talos)
    installer = image_of(node, cluster.talos_version, cluster.provider.platform).installer
    machine["install"] = {**machine.get("install", {}), "image": installer}
    if node.kernel_modules:
        machine["kernel"] = {"modules": [{"name": name} for name in node.kernel_modules]}
    if node.labels:
        machine["nodeLabels"] = dict(node.labels)
    if node.taints:
        machine["nodeTaints"] = dict(_taint(taint) for taint in node.taints)
    documents: list[Document] = []
    if talos >= SINCE_DOCUMENTS:
        # Fresh configs say `auto: stable`; together with a name that would be refused.
        documents.append({"apiVersion": "v1alpha1", "kind": "HostnameConfig", "auto": "off", "hostname": node.name})
        documents += network_documents(cluster, node)
    else:
        machine["network"] = network_section(cluster, node)
    documents += storage_documents(node, talos)
    return [{"machine": machine}, *documents]


def shared_documents(cluster: Cluster, role: Role, contract: Contract) -> list[Document]:
    """The same for all nodes of a role."""
    talos, network = cluster.talos, cluster.network
    machine: dict[str, Any] = {}
    features: dict[str, Any] = {}
    if talos.sysctls:
        machine["sysctls"] = dict(talos.sysctls)
    if not talos.kube_prism:
        features["kubePrism"] = {"enabled": False}
    if not talos.host_dns:
        features["hostDNS"] = {"enabled": False, "forwardKubeDNSToHost": False}
    if features:
        machine["features"] = features
    main: Document = {"machine": machine}
    if network.addressing == "static" and network.node_cidr is not None:
        # With a second network, a VIP or a tunnel on the node, its address must not be a matter of luck.
        machine["kubelet"] = {"nodeIP": {"validSubnets": [str(network.node_cidr)]}}
        if role == "controlplane":
            main["cluster"] = {"etcd": {"advertisedSubnets": [str(network.node_cidr)]}}
    if contract.version >= SINCE_DOCUMENTS:
        return [main, *resolver_documents(cluster)]
    machine |= old_resolver_fields(cluster)
    return [main]


def image_of(node: Node, talos: Version, platform: str) -> ImageRequest:
    """Containers are not installed; the field is only there because Talos has it."""
    image = node.image
    return ImageRequest(
        version=talos,
        platform="metal" if platform == "container" else platform,
        arch=node.arch,
        extensions=tuple(image.extensions),
        kernel_args=tuple(image.kernel_args),
        secureboot=image.secureboot,
        schematic=image.schematic or "",
        factory=image.factory,
    )


def _taint(text: str) -> tuple[str, str]:
    """`key=value:Effect` as Talos writes it: the effect, with the value before it if there is one."""
    rest, _, effect = text.rpartition(":")
    key, equals, value = rest.partition("=")
    return key, f"{value}:{effect}" if equals else effect
