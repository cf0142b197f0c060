"""What a talconfig says of the cluster as a whole: the sections of `cluster.yaml`, and documents for the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from ipaddress import ip_network
from typing import Any

from talosmith.inventory.importers.talconfig.addressing import Addressing
from talosmith.inventory.importers.talconfig.fragments import DELETE, Fragment, Fragments
from talosmith.inventory.importers.talconfig.node_documents import text_of
from talosmith.inventory.importers.talconfig.node_keys import fits
from talosmith.inventory.importers.talconfig.source import Talconfig
from talosmith.inventory.parse import Path
from talosmith.model.settings import Cni
from talosmith.model.values import Address, DomainName, Host, Name

POD_NETWORK, SERVICE_NETWORK = "10.244.0.0/16", "10.96.0.0/12"  # what talhelper takes if none are given
_ENDPOINT = re.compile(r"https://(?P<host>\[[^]]+\]|[^/:]+)(?::(?P<port>\d+))?/?\Z")
_HTTPS = "443"

Section = dict[str, Any]


class ClusterKeys:
    """Makes the sections; what has no key goes to the fragments."""

    def __init__(self, talconfig: Talconfig, addressing: Addressing, fragments: Fragments) -> None:
        self._talconfig = talconfig
        self._data = talconfig.data
        self._addressing = addressing
        self._fragments = fragments

    def name(self) -> str:
        given: str = self._data["clusterName"]
        if fits(Name, given):
            return given
        self._say({"cluster": {"clusterName": given}}, ("clusterName",), "cluster.clusterName: in its own letters")
        return re.sub(r"[^a-z0-9]+", "-", given.lower()).strip("-")[:63].strip("-") or "cluster"

    def network(self, dns_servers: Sequence[str]) -> Section:
        addressing = self._addressing
        section: Section = {}
        if addressing.node_cidr is not None:
            section |= {"node_cidr": str(addressing.node_cidr), "gateway": str(addressing.gateway)}
            self._keep_addresses_free()
        if addressing.vip is not None:
            section["vip"] = str(addressing.vip)
        section["endpoint"] = self._endpoint()
        section |= self._certificates()
        if dns_servers:
            section["dns_servers"] = list(dns_servers)
        section["pod_cidr"] = self._subnets("clusterPodNets", "podSubnets", POD_NETWORK)
        section["svc_cidr"] = self._subnets("clusterSvcNets", "serviceSubnets", SERVICE_NETWORK)
        return section

    def kubernetes(self) -> Section:
        scheduled = self._data.get("allowSchedulingOnMasters") or self._data.get("allowSchedulingOnControlPlanes")
        section: Section = {**self._cni(), "schedule_on_controlplanes": bool(scheduled)}
        domain = self._data.get("domain")
        if domain and fits(DomainName, domain):
            section["dns_domain"] = domain
        elif domain:
            self._say({"cluster": {"network": {"dnsDomain": domain}}}, ("domain",), "cluster.network.dnsDomain")
        self._inline_manifests()
        return section

    def dns_servers(self) -> list[str]:
        """Name servers that all nodes have; where they differ they are said of each node."""
        all_of_them = [node.get("nameservers") or [] for node in self._talconfig.nodes]
        first: list[str] = all_of_them[0]
        same = all(servers == first for servers in all_of_them)
        return first if same and all(fits(Address, server) for server in first) else []

    def _say(self, document: Mapping[str, Any], path: Path, why: str) -> None:
        self._fragments.add("global", Fragment([document], path, why))

    def _endpoint(self) -> str:
        """With its port: without one an inventory means 6443, and a talconfig the port of https."""
        endpoint: str = self._data["endpoint"]
        found = _ENDPOINT.match(endpoint)
        return endpoint if found is None or found["port"] else f"https://{found['host']}:{_HTTPS}"

    def _host(self) -> str:
        found = _ENDPOINT.match(self._data["endpoint"])
        return found["host"].strip("[]") if found else ""

    def _certificates(self) -> Section:
        """talhelper has names for the Kubernetes API and names for Talos; an inventory has one list for both."""
        talconfig, host = self._talconfig, self._host()
        vip = str(self._addressing.vip) if self._addressing.vip else ""
        api: list[str] = self._data.get("additionalApiServerCertSans") or []
        machine: list[str] = self._data.get("additionalMachineCertSans") or []
        names = [name for name in dict.fromkeys((*api, *machine)) if name not in (host, vip) and fits(Host, name)]
        # What talosmith would make of them.
        known = [name for name in (host if talconfig.has_documents else "", vip, *names) if name]
        by_itself = list(dict.fromkeys(known if talconfig.has_documents else [one for one in known if one != host]))
        first = [] if talconfig.has_documents else [host]
        why = "certSANs: the names in certificates, without the endpoint and the VIP of the inventory"
        self._names("machine", "additionalMachineCertSans", by_itself, machine, why)
        self._names("apiServer", "additionalApiServerCertSans", [*first, *by_itself], [*first, *api], why)
        return {"cert_sans": names} if names else {}

    def _names(self, section: str, source: str, made: Sequence[str], wanted: Sequence[str], why: str) -> None:
        def document(value: Any) -> Section:
            inner = {section: {"certSANs": value}}
            return inner if section == "machine" else {"cluster": inner}

        documents = []
        if list(wanted[: len(made)]) != list(made):
            documents.append(document(DELETE))
            made = []
        if wanted[len(made) :]:
            documents.append(document(list(wanted[len(made) :])))
        if documents:
            fragment = Fragment(documents, (source,), f"{section}.{why}", undoes=True)
            self._fragments.add("global" if section == "machine" else "controlplane", fragment)

    def _keep_addresses_free(self) -> None:
        """With static addresses talosmith ties the kubelet and etcd to their network."""
        path: Path = ("nodes",)
        why = "machine.kubelet.nodeIP: which of its addresses a node registers with is left to Kubernetes"
        document: Section = {"machine": {"kubelet": {"nodeIP": DELETE}}}
        self._fragments.add("global", Fragment([document], path, why, undoes=True))
        why = "cluster.etcd.advertisedSubnets: which of its addresses etcd tells others is left to Talos"
        document = {"cluster": {"etcd": {"advertisedSubnets": DELETE}}}
        self._fragments.add("controlplane", Fragment([document], path, why, undoes=True))

    def _subnets(self, key: str, field: str, default: str) -> str:
        given: list[str] = self._data.get(key) or []
        if not given:
            return default
        first = _network(given[0])
        if given != [first]:
            document = {"cluster": {"network": {field: given}}}
            self._say(document, (key,), f"cluster.network.{field}: more than one, or in another form")
        return first

    def _cni(self) -> Section:
        cni = self._data.get("cniConfig")
        if not cni:
            return {}
        if cni.get("flannel"):
            document = {"cluster": {"network": {"cni": {"name": "flannel", "flannel": cni["flannel"]}}}}
            self._say(document, ("cniConfig", "flannel"), "cluster.network.cni: settings of flannel")
        converted = {key: cni[key] for key in ("name", "urls") if cni.get(key)}
        if not fits(Cni, converted):
            what = f"`{converted.get('name', '')}` is no network that an inventory knows"
            self._talconfig.remarks.left_out(("cniConfig", "name"), what, fix="flannel, none or custom")
            return {}
        return {"cni": converted["name"] if set(converted) == {"name"} else converted}

    def _inline_manifests(self) -> None:
        manifests = []
        for index, manifest in enumerate(self._data.get("inlineManifests") or ()):
            path = ("inlineManifests", index)
            text = manifest.get("contents") or ""
            contents = text_of(self._talconfig, path, text, fill=not manifest.get("skipEnvsubst"))
            if contents is not None:
                manifests.append({"name": manifest.get("name") or "", "contents": contents})
        if manifests:
            self._say({"cluster": {"inlineManifests": manifests}}, ("inlineManifests",), "cluster.inlineManifests")


def _network(text: str) -> str:
    """The network in the form that inventories take; what is no network at all is for the inventory to refuse."""
    try:
        return str(ip_network(text, strict=False))
    except ValueError:
        return text
