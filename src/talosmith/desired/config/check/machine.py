"""What Talos asks of the machine section of the main document, but for its network interfaces."""

from __future__ import annotations

from typing import Any

from talosmith.desired.config.check.findings import Findings, Mode, check, complaint, error, warning
from talosmith.desired.config.check.node import (
    check_annotations,
    check_kubelet_config,
    check_labels,
    check_overrides,
    check_roles,
    check_subnets,
    check_taints,
)
from talosmith.desired.config.schema.gourl import parse_url
from talosmith.govalues import address_or_prefix, prefix

_SELECTOR_TYPES = ("nvme", "sd", "hdd", "ssd")
_SMALLEST_KUBESPAN_MTU = 1280
_KEY_KINDS = ("static", "nodeID", "kms", "tpm")


@check("persist")
def _persist(persist: bool | None) -> Findings:
    if persist is False:
        yield error("persist", "must be true")


@check("machine.type", "@role")
def _type(name: str | None, role: str) -> Findings:
    if not role:
        yield error("machine.type", "is neither controlplane nor worker")
    elif name not in ("init", role):
        yield warning("machine.type", f"should be written as {role}")


@check("@role", "machine.ca", "machine.acceptedCAs", "cluster.ca")
def _authorities(role: str, ca: Any, accepted: Any, cluster_ca: Any) -> Findings:
    if ca is None and not accepted:
        yield error("machine.ca", "is missing, and there are no acceptedCAs either")
    if role == "controlplane":
        if ca is None:
            yield error("machine.ca", "is missing, and control planes need it")
        elif not ca.get("key"):
            yield error("machine.ca.key", "is missing, and control planes need it")
        return
    if role == "worker" and ca is not None:
        if ca.get("key"):
            yield error("machine.ca.key", "must not be known to a worker")
        if not ca.get("crt") and not accepted:
            yield error("machine.ca.crt", "is missing, and there are no acceptedCAs either")
    if cluster_ca is not None and cluster_ca.get("key"):
        yield error("cluster.ca.key", "must not be known to a worker")


@check("@mode", "machine.install", until=(1, 13))
def _install_is_there(mode: Mode, install: Any) -> Findings:
    if mode == "metal" and install is None:
        yield error("machine.install", "is missing, and metal machines need it")


@check("@mode", "machine.install")
def _install(mode: Mode, install: Any) -> Findings:
    if mode == "metal" and install is not None:
        selector = install.get("diskSelector")
        if selector is None and not install.get("disk"):
            yield error("machine.install", "has neither a disk nor a diskSelector")
        if selector and selector.get("name"):
            yield error("machine.install.diskSelector.name", "is not supported any more")
        if selector and (selector.get("type") or "ssd") not in _SELECTOR_TYPES:
            yield error("machine.install.diskSelector.type", f"is none of {', '.join(_SELECTOR_TYPES)}")
        if install.get("extraKernelArgs") and install.get("grubUseUKICmdline"):
            yield error("machine.install.extraKernelArgs", "have no effect while grubUseUKICmdline is true")
    images = [one.get("image") or "" for one in (install or {}).get("extensions") or ()]
    if len(set(images)) < len(images):
        yield error("machine.install.extensions", "has an image twice")
    if images:
        yield warning("machine.install.extensions", "is deprecated: extensions belong into the installer image")


@check("@mode", "machine.features.hostDNS", until=(1, 13))
def _host_dns_in_containers(mode: Mode, host_dns: Any) -> Findings:
    for key in ("enabled", "forwardKubeDNSToHost"):
        if mode == "container" and not (host_dns or {}).get(key):
            yield error(f"machine.features.hostDNS.{key}", "must be true in containers")


@check("machine.features.hostDNS")
def _host_dns(host_dns: Any) -> Findings:
    if (host_dns or {}).get("forwardKubeDNSToHost") and not host_dns.get("enabled"):
        yield error("machine.features.hostDNS.forwardKubeDNSToHost", "needs hostDNS.enabled")


@check("@role", "machine.features.kubernetesTalosAPIAccess")
def _api_access(role: str, access: Any) -> Findings:
    if not access or not access.get("enabled"):
        return
    path = "machine.features.kubernetesTalosAPIAccess"
    if role != "controlplane":
        yield error(path, "is for control planes only")
    yield from check_roles(f"{path}.allowedRoles", access.get("allowedRoles"))


@check("machine.features.nodeAddressSortAlgorithm")
def _sort_algorithm(name: str | None) -> Findings:
    if name and name.lower() not in ("v1", "v2"):
        yield error("machine.features.nodeAddressSortAlgorithm", "is neither v1 nor v2")


@check("machine.network.kubespan", "cluster.discovery", "cluster.id", "cluster.secret", until=(1, 13))
def _kubespan_needs(kubespan: Any, discovery: Any, cluster_id: str | None, secret: str | None) -> Findings:
    if not kubespan or not kubespan.get("enabled"):
        return
    if not discovery or not discovery.get("enabled"):
        yield error("machine.network.kubespan", "needs cluster.discovery")
    if not cluster_id or not secret:
        yield error("machine.network.kubespan", "needs cluster.id and cluster.secret")


@check("machine.network.kubespan")
def _kubespan(kubespan: Any) -> Findings:
    if not kubespan or not kubespan.get("enabled"):
        return
    path = "machine.network.kubespan"
    if 0 < (kubespan.get("mtu") or 0) < _SMALLEST_KUBESPAN_MTU:
        yield error(f"{path}.mtu", f"is less than {_SMALLEST_KUBESPAN_MTU}")
    filters = kubespan.get("filters") or {}
    for entry in filters.get("endpoints") or ():
        yield from complaint(f"{path}.filters.endpoints", address_or_prefix, entry.removeprefix("!"))
    for entry in filters.get("excludeAdvertisedNetworks") or ():
        yield from complaint(f"{path}.filters.excludeAdvertisedNetworks", prefix, entry)


@check("machine.files", "machine.baseRuntimeSpecOverrides", since=(1, 14))
def _deprecated(files: Any, overrides: Any) -> Findings:
    if files:
        yield warning("machine.files", "is deprecated: EtcFileConfig and CRICustomizationConfig take its place")
    if overrides:
        yield warning("machine.baseRuntimeSpecOverrides", "is deprecated: CRIBaseRuntimeSpecConfig takes its place")


@check("machine.disks")
def _disks(disks: Any) -> Findings:
    for index, disk in enumerate(disks or ()):
        if disk is None:
            yield error(f"machine.disks[{index}]", "is null")
            continue
        partitions = disk.get("partitions") or []
        if any(one is None for one in partitions) or any(not one.get("size") for one in partitions[:-1]):
            yield error(f"machine.disks[{index}].partitions", "has one without a size that is not the last")


@check("machine.kubelet.nodeIP.validSubnets")
def _node_subnets(subnets: Any) -> Findings:
    return check_subnets("machine.kubelet.nodeIP.validSubnets", subnets)


@check("machine.kubelet.extraConfig")
def _kubelet_config(config: Any) -> Findings:
    return check_kubelet_config("machine.kubelet.extraConfig", config)


@check("machine.systemDiskEncryption")
def _encryption(encryption: Any) -> Findings:
    for partition, config in (encryption or {}).items():
        path = f"machine.systemDiskEncryption.{partition}.keys"
        keys = (config or {}).get("keys") or []
        if config is not None and not keys:
            yield error(path, "is empty")
        if any(key is None for key in keys):
            yield error(path, "has null in it")
            continue
        slots = [key.get("slot") or 0 for key in keys]
        if len(set(slots)) < len(slots):
            yield error(path, "uses a slot twice")
        if any(all(key.get(kind) is None for kind in _KEY_KINDS) for key in keys):
            yield error(path, f"has one that is none of {', '.join(_KEY_KINDS)}")


@check("machine.logging")
def _logging(logging: Any) -> Findings:
    for index, destination in enumerate((logging or {}).get("destinations") or ()):
        path = f"machine.logging.destinations[{index}]"
        endpoint = destination.get("endpoint")
        url = parse_url(endpoint or "")
        if endpoint is None or not url.host or url.scheme not in ("tcp", "udp"):
            yield error(f"{path}.endpoint", "is not a tcp:// or udp:// address with a host")
        if destination.get("format") != "json_lines":
            yield error(f"{path}.format", "is not json_lines")


@check("machine.nodeLabels")
def _labels(labels: Any) -> Findings:
    return check_labels("machine.nodeLabels", labels)


@check("machine.nodeAnnotations")
def _annotations(annotations: Any) -> Findings:
    return check_annotations("machine.nodeAnnotations", annotations)


@check("machine.nodeTaints")
def _taints(taints: Any) -> Findings:
    return check_taints("machine.nodeTaints", taints)


@check("machine.baseRuntimeSpecOverrides")
def _runtime_spec(overrides: Any) -> Findings:
    return check_overrides("machine.baseRuntimeSpecOverrides", overrides)


@check("machine.registries")
def _registries(registries: Any) -> Findings:
    for part in ("mirrors", "config"):
        for host, entry in ((registries or {}).get(part) or {}).items():
            if entry is None:
                yield error(f'machine.registries.{part}["{host}"]', "is null")
