"""What Talos asks of the machine section of the main document, but for its network interfaces."""

from __future__ import annotations

from typing import Any

from talosmith.desired.config.check.findings import Findings, Mode, check, complaint, error, warning
from talosmith.desired.config.check.names import check_label_value, check_qualified_name, check_taint
from talosmith.desired.config.check.runtime_spec import check_runtime_spec
from talosmith.desired.config.schema.gourl import parse_url
from talosmith.govalues import address_or_prefix, prefix

_SELECTOR_TYPES = ("nvme", "sd", "hdd", "ssd")
_KUBELET_FIELDS_OF_TALOS = (
    "apiVersion", "authentication", "authorization", "cgroupRoot", "kind", "kubeletCgroups", "port",
    "protectKernelDefaults", "resolvConf", "rotateCertificates", "systemCgroups", "staticPodPath", "seccompDefault",
)  # fmt: skip
_ROLES = tuple(f"os:{name}" for name in (
    "admin", "operator", "reader", "etcd:backup", "image:verifier", "meta:writer", "impersonator",
))  # fmt: skip
_ANNOTATIONS_OF_TALOS = tuple(f"talos.dev/owned-{what}" for what in ("labels", "annotations", "taints"))
_ANNOTATIONS_LIMIT = 256 * 1024
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


@check("@mode", "machine.install")
def _install(mode: Mode, install: Any) -> Findings:
    if mode == "metal":
        if install is None:
            yield error("machine.install", "is missing, and metal machines need it")
            return
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


@check("@mode", "machine.features.hostDNS")
def _host_dns(mode: Mode, host_dns: Any) -> Findings:
    enabled = (host_dns or {}).get("enabled")
    forward = (host_dns or {}).get("forwardKubeDNSToHost")
    if mode == "container" and not enabled:
        yield error("machine.features.hostDNS.enabled", "must be true in containers")
    if mode == "container" and not forward:
        yield error("machine.features.hostDNS.forwardKubeDNSToHost", "must be true in containers")
    if forward and not enabled:
        yield error("machine.features.hostDNS.forwardKubeDNSToHost", "needs hostDNS.enabled")


@check("@role", "machine.features.kubernetesTalosAPIAccess")
def _api_access(role: str, access: Any) -> Findings:
    if not access or not access.get("enabled"):
        return
    path = "machine.features.kubernetesTalosAPIAccess"
    if role != "controlplane":
        yield error(path, "is for control planes only")
    if not all(name in _ROLES for name in access.get("allowedRoles") or ()):
        yield error(f"{path}.allowedRoles", f"has one that is none of {', '.join(_ROLES)}")


@check("machine.features.nodeAddressSortAlgorithm")
def _sort_algorithm(name: str | None) -> Findings:
    if name and name.lower() not in ("v1", "v2"):
        yield error("machine.features.nodeAddressSortAlgorithm", "is neither v1 nor v2")


@check("machine.network.kubespan", "cluster.discovery", "cluster.id", "cluster.secret")
def _kubespan(kubespan: Any, discovery: Any, cluster_id: str | None, secret: str | None) -> Findings:
    if not kubespan or not kubespan.get("enabled"):
        return
    path = "machine.network.kubespan"
    if 0 < (kubespan.get("mtu") or 0) < _SMALLEST_KUBESPAN_MTU:
        yield error(f"{path}.mtu", f"is less than {_SMALLEST_KUBESPAN_MTU}")
    if not discovery or not discovery.get("enabled"):
        yield error(path, "needs cluster.discovery")
    if not cluster_id or not secret:
        yield error(path, "needs cluster.id and cluster.secret")
    filters = kubespan.get("filters") or {}
    for entry in filters.get("endpoints") or ():
        yield from complaint(f"{path}.filters.endpoints", address_or_prefix, entry.removeprefix("!"))
    for entry in filters.get("excludeAdvertisedNetworks") or ():
        yield from complaint(f"{path}.filters.excludeAdvertisedNetworks", prefix, entry)


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
    for entry in subnets or ():
        yield from complaint("machine.kubelet.nodeIP.validSubnets", address_or_prefix, entry.removeprefix("!"))


@check("machine.kubelet.extraConfig")
def _kubelet_config(config: Any) -> Findings:
    for name in _KUBELET_FIELDS_OF_TALOS:
        if name in (config or {}):
            yield error(f"machine.kubelet.extraConfig.{name}", "is set by Talos itself")


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
    for key, value in (labels or {}).items():
        yield from complaint(f'machine.nodeLabels["{key}"]', check_qualified_name, key)
        yield from complaint(f'machine.nodeLabels["{key}"]', check_label_value, value)


@check("machine.nodeAnnotations")
def _annotations(annotations: Any) -> Findings:
    for key in annotations or {}:
        yield from complaint(f'machine.nodeAnnotations["{key}"]', check_qualified_name, key)
        if key in _ANNOTATIONS_OF_TALOS:
            yield error(f'machine.nodeAnnotations["{key}"]', "is set by Talos itself")
    size = sum(len(key.encode()) + len(value.encode()) for key, value in (annotations or {}).items())
    if size > _ANNOTATIONS_LIMIT:
        yield error("machine.nodeAnnotations", f"are more than {_ANNOTATIONS_LIMIT} bytes together")


@check("machine.nodeTaints")
def _taints(taints: Any) -> Findings:
    for key, value in (taints or {}).items():
        yield from complaint(f'machine.nodeTaints["{key}"]', check_qualified_name, key)
        yield from complaint(f'machine.nodeTaints["{key}"]', check_taint, value)


@check("machine.baseRuntimeSpecOverrides")
def _runtime_spec(overrides: Any) -> Findings:
    for path in check_runtime_spec(overrides or {}):
        yield error(f"machine.baseRuntimeSpecOverrides.{path}", "has not the type that the OCI runtime spec gives it")


@check("machine.registries")
def _registries(registries: Any) -> Findings:
    for part in ("mirrors", "config"):
        for host, entry in ((registries or {}).get(part) or {}).items():
            if entry is None:
                yield error(f'machine.registries.{part}["{host}"]', "is null")
