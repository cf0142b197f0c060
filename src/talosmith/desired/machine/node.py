"""What the inventory says of one node, and of all nodes, as patches over a fresh config."""

from __future__ import annotations

from typing import Any

from talosmith.desired.config.schema.contracts import Contract
from talosmith.desired.images import ImageRequest
from talosmith.desired.machine.links import (
    SINCE_DOCUMENTS,
    document,
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
    installer = image_of(node, cluster.talos_version, cluster.provider.platform).installer
    machine = storage_fields(node, talos, installer)
    documents: list[Document] = []
    taints = dict(_taint(taint) for taint in node.taints)
    if contract.kubernetes_as_documents:
        documents += [document("KernelModuleConfig", name=name) for name in node.kernel_modules]
        if given := _given(labels=dict(node.labels), taints=taints):
            documents.append(document("KubeNodeConfig", **given))
    else:
        modules = {"modules": [{"name": name} for name in node.kernel_modules]}
        machine |= _given(
            kernel=modules if node.kernel_modules else {}, nodeLabels=dict(node.labels), nodeTaints=taints
        )
    if talos >= SINCE_DOCUMENTS:
        # Fresh configs say `auto: stable`; together with a name that would be refused.
        documents.append(document("HostnameConfig", auto="off", hostname=node.name))
        documents += network_documents(cluster, node)
    else:
        machine["network"] = network_section(cluster, node)
    documents += storage_documents(node, talos, installer)
    return [*([{"machine": machine}] if machine else []), *documents]


def shared_documents(cluster: Cluster, role: Role, contract: Contract) -> list[Document]:
    """The same for all nodes of a role."""
    talos, network = cluster.talos, cluster.network
    machine: dict[str, Any] = {}
    main: Document = {"machine": machine}
    documents: list[Document] = []
    host_dns = {} if talos.host_dns else {"enabled": False, "forwardKubeDNSToHost": False}
    # With a second network, a VIP or a tunnel on the node, its address must not be a matter of luck.
    subnets = [str(network.node_cidr)] if network.addressing == "static" and network.node_cidr is not None else []
    if contract.kubernetes_as_documents:
        if talos.sysctls:
            documents.append(document("SysctlConfig", params=dict(talos.sysctls)))
        if host_dns:
            documents.append(document("ResolverConfig", hostDNS=host_dns))
        if subnets:
            documents.append(document("KubeNodeConfig", nodeIP={"validSubnets": subnets}))
    else:
        machine |= _given(
            sysctls=dict(talos.sysctls),
            features={"hostDNS": host_dns} if host_dns else {},
            kubelet={"nodeIP": {"validSubnets": subnets}} if subnets else {},
        )
    if subnets and role == "controlplane":
        main["cluster"] = {"etcd": {"advertisedSubnets": subnets}}
    if contract.version >= SINCE_DOCUMENTS:
        return [main, *documents, *resolver_documents(cluster)]
    machine |= old_resolver_fields(cluster)
    return [main, *documents]


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


def _given(**fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value}
