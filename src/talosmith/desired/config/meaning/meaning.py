"""What a machine config means, whichever form it is written in: v1alpha1 fields, documents, or some of both.

Talos 1.14 takes both forms and reads them by one set of accessors, in which a document mostly wins over the field it
replaces. `Meaning` is the same for loaded documents: sections with equal values where Talos would do the same.
Sections are read as they are asked for, so that a reader of one field of a thousand configs pays for that field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from talosmith.desired.config.meaning import controlplane, kubernetes, machine, network, rest
from talosmith.desired.config.meaning.view import Document, Values, View, pair, texts

Section = Callable[[View], Any]

_CONTROLPLANE: tuple[Section, ...] = (
    controlplane.api_server,
    controlplane.authentication,
    controlplane.authorizers,
    controlplane.admission_control,
    controlplane.audit_policy,
    controlplane.controller_manager,
    controlplane.scheduler,
    controlplane.proxy,
    controlplane.core_dns,
    controlplane.flannel,
    controlplane.etcd_encryption,
    controlplane.service_account,
    controlplane.talos_api_access,
    kubernetes.aggregator_ca,
)
_EVERYWHERE: tuple[Section, ...] = (
    kubernetes.cluster,
    kubernetes.network,
    kubernetes.node,
    kubernetes.kubelet,
    kubernetes.credential_provider,
    kubernetes.kubernetes_ca,
    kubernetes.kube_prism,
    kubernetes.static_pods,
    controlplane.inline_manifests,
    controlplane.external_manifests,
    network.hostname,
    network.resolver,
    network.host_dns,
    network.time_sync,
    network.kubespan,
    network.static_hosts,
    network.discovery,
    network.discovery_identity,
    machine.install,
    machine.sysctls,
    machine.sysfs,
    machine.environment,
    machine.kernel_modules,
    machine.udev_rules,
    machine.files,
    machine.etc_files,
    machine.cri_customization,
    machine.cri_base_runtime_spec,
    machine.image_cache,
    machine.registry_mirrors,
    machine.registry_auth,
    machine.registry_tls,
    machine.volumes,
    rest.main_document,
    rest.other_documents,
)
SECTIONS: dict[str, Section] = {one.__name__: one for one in (*_EVERYWHERE, *_CONTROLPLANE)}
CONTROLPLANE_SECTIONS = frozenset(one.__name__ for one in _CONTROLPLANE)

_NAMED_DISK = (('disk.dev_path == "', '"'), ('"', '" in disk.symlinks'))


def meaning(documents: Iterable[Document]) -> Meaning:
    """What the documents mean to Talos. They are those that `load` returns, or plain values in that form."""
    return Meaning(View(documents))


@dataclass(frozen=True, eq=False, repr=False)
class Meaning:
    """Sections by name, and what readers of live configs most often ask for. It holds secrets; do not print it."""

    _view: View
    _read: dict[str, Any] = field(default_factory=dict)

    def section(self, name: str) -> Any:
        """None for what only control planes run, on a worker: Talos reads none of it there."""
        if name in CONTROLPLANE_SECTIONS and not self.is_controlplane:
            return None
        return self._value(name)

    def sections(self) -> dict[str, Any]:
        return {name: self.section(name) for name in SECTIONS}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Meaning):
            return NotImplemented
        return all(self.section(name) == other.section(name) for name in SECTIONS)

    __hash__ = None  # type: ignore[assignment]

    def _value(self, name: str) -> Any:
        if name not in self._read:
            self._read[name] = SECTIONS[name](self._view)
        return self._read[name]

    @property
    def documents(self) -> list[Document]:
        others = [one for documents in self._view.kinds.values() for one in documents]
        return others if self._view.main is None else [self._view.main, *others]

    # The node.

    @property
    def complete(self) -> bool:
        """Whether a node boots with it: a config of other documents alone only adds to maintenance mode."""
        return bool(self._view.machine)

    @property
    def is_controlplane(self) -> bool:
        return self._view.is_controlplane

    @property
    def role(self) -> Literal["controlplane", "worker"]:
        return "controlplane" if self.is_controlplane else "worker"

    @property
    def hostname(self) -> str:
        """Empty: Talos makes one, see `hostname_auto`."""
        return str(self._value("hostname")["hostname"])

    @property
    def hostname_auto(self) -> str:
        """`off`, `stable` or `talos-addr`; `off` where there is a hostname."""
        return str(self._value("hostname")["auto"])

    @property
    def cert_sans(self) -> tuple[str, ...]:
        """Further names of the Talos API."""
        return tuple(texts(self._view.machine.get("certSANs")))

    @property
    def os_ca(self) -> dict[str, str] | None:
        """`cert` and `key` in PEM; the key is empty on workers."""
        return pair(self._view.machine.get("ca"))

    @cached_property
    def os_accepted_cas(self) -> tuple[str, ...]:
        return tuple((pair(one) or {}).get("cert", "") for one in self._view.machine.get("acceptedCAs") or ())

    @property
    def install(self) -> Mapping[str, Any] | None:
        """`image`, `match`, `wipe` …; None: Talos installs nothing by itself."""
        found: Values | None = self._value("install")
        return found

    @property
    def install_disk(self) -> str:
        """The device, or a link to it, where the config names one and not a selector."""
        match = str((self.install or {}).get("match", ""))
        for start, end in _NAMED_DISK:
            if match.startswith(start) and match.endswith(end) and match.count('"') == 2:
                return match[len(start) : -len(end)]
        return ""

    @property
    def sysctls(self) -> Mapping[str, str]:
        found: dict[str, str] = self._value("sysctls")
        return found

    @property
    def kernel_modules(self) -> Mapping[str, list[str]]:
        """Parameters by module."""
        found: dict[str, list[str]] = self._value("kernel_modules")
        return found

    @property
    def registries(self) -> Mapping[str, Any]:
        """`mirrors`, `auth` and `tls`, each by host."""
        return {key: self._value(f"registry_{key}") for key in ("mirrors", "auth", "tls")}

    @property
    def nameservers(self) -> tuple[str, ...]:
        return tuple(one["address"] for one in self._value("resolver")["nameservers"])

    @property
    def time_servers(self) -> tuple[str, ...]:
        return tuple(self._value("time_sync")["servers"])

    @property
    def host_dns(self) -> Mapping[str, bool] | None:
        found: dict[str, bool] | None = self._value("host_dns")
        return found

    # The cluster.

    @property
    def cluster_name(self) -> str:
        return str(self._value("cluster")["name"])

    @property
    def endpoint(self) -> str:
        return str(self._value("cluster")["endpoint"])

    @property
    def cluster_id(self) -> str:
        return str(self._value("discovery_identity")["clusterID"])

    @property
    def cluster_secret(self) -> str:
        return str(self._value("discovery_identity")["clusterSecret"])

    @property
    def discovery_endpoints(self) -> tuple[str, ...]:
        """Empty: no discovery service."""
        return tuple(self._value("discovery")["endpoints"])

    @property
    def discovery(self) -> bool:
        return bool(self.discovery_endpoints)

    @property
    def kubernetes_ca(self) -> dict[str, str] | None:
        """`cert` and `key` in PEM; the key is empty on workers."""
        found = self._value("kubernetes_ca")
        issuing: dict[str, str] | None = found["issuing"]
        if issuing is None and found["accepted"]:
            return {"cert": found["accepted"][0], "key": ""}
        return issuing

    @property
    def kubernetes_accepted_cas(self) -> tuple[str, ...]:
        """Further accepted CAs, beside the first."""
        return tuple(self._value("kubernetes_ca")["accepted"][1:])

    @property
    def service_account_key(self) -> str:
        return str((self._value("service_account") or {}).get("key", ""))

    # Kubernetes.

    @cached_property
    def images(self) -> Mapping[str, str]:
        """By component; those that the config names."""
        found = {
            "kubelet": self._value("kubelet")["image"],
            "kube-apiserver": self._value("api_server")["image"],
            "kube-controller-manager": self._value("controller_manager")["image"],
            "kube-scheduler": self._value("scheduler")["image"],
            "kube-proxy": self._value("proxy")["image"],
            "coredns": self._value("core_dns")["image"],
            "etcd": self._view.of_cluster("etcd").get("image") or "",
        }
        return {name: image for name, image in found.items() if image}

    @property
    def labels(self) -> Mapping[str, str]:
        found: dict[str, str] = self._value("node")["labels"]
        return found

    @property
    def taints(self) -> Mapping[str, str]:
        found: dict[str, str] = self._value("node")["taints"]
        return found

    @property
    def annotations(self) -> Mapping[str, str]:
        found: dict[str, str] = self._value("node")["annotations"]
        return found

    @property
    def skip_node_registration(self) -> bool:
        return bool(self._value("node")["skipNodeRegistration"])

    @property
    def node_ip_subnets(self) -> tuple[str, ...]:
        return tuple(self._value("node")["validSubnets"])

    @property
    def kube_prism(self) -> Mapping[str, Any] | None:
        """`port` and `tlsServerName`; None: disabled."""
        found: Values | None = self._value("kube_prism")
        return found

    @property
    def cni(self) -> Literal["flannel", "custom", "none"]:
        """Where documents configure the network, only control planes know of flannel."""
        if self._value("flannel") is not None:
            return "flannel"
        if self._view.cluster.get("network") is not None:
            return "custom" if controlplane.cni_name(self._view) == "custom" else "none"
        names = [one.get("name") for one in self._view.every("KubeExternalManifestConfig")]
        return "custom" if "custom-cni" in names else "none"

    @property
    def proxy_enabled(self) -> bool:
        return bool(self._value("proxy")["enabled"])

    @property
    def core_dns_enabled(self) -> bool:
        return bool(self._value("core_dns")["enabled"])

    @property
    def controller_manager_enabled(self) -> bool:
        return bool(self._value("controller_manager")["enabled"])

    @property
    def scheduler_enabled(self) -> bool:
        return bool(self._value("scheduler")["enabled"])

    @property
    def api_server_sans(self) -> tuple[str, ...]:
        """Further names of the Kubernetes API."""
        return tuple(self._value("api_server")["certSANs"])

    @property
    def api_server_port(self) -> int:
        return int(self._value("api_server")["apiPort"])

    @property
    def inline_manifests(self) -> tuple[str, ...]:
        """Names."""
        return tuple(one["name"] for one in self._value("inline_manifests"))

    @property
    def external_manifests(self) -> tuple[str, ...]:
        """URLs."""
        return tuple(one["url"] for one in self._value("external_manifests"))
