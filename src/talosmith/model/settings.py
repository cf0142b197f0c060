"""Settings of Talos and Kubernetes for all nodes of a cluster."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from talosmith.model.disks import VolumeDisk
from talosmith.model.section import Section, shorthand
from talosmith.model.values import Address, DomainName, Interface, Network, SizeMib, wrong


def _url(value: str) -> str:
    if not re.fullmatch(r"https?://[^\s/]+\S*", value):
        raise wrong(f"`{value}` is not a web address", fix="it starts with https:// or http://")
    return value


Url = Annotated[str, AfterValidator(_url)]


class Cni(Section):
    """The CNI: Talos' own flannel, none (installed separately), or custom manifests."""

    name: Literal["flannel", "none", "custom"]
    urls: list[Url] = []
    """manifests, for `custom`"""


def _named(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


class KubernetesSettings(Section):
    """What Kubernetes runs and how."""

    cni: Annotated[Cni, shorthand(_named, str | Cni)] | None = None
    """flannel, none or custom; flannel if left out, none where the add-on cilium is on"""
    kube_proxy: bool | None = None
    """on if left out, off where the add-on cilium is on"""
    schedule_on_controlplanes: bool | None = None
    """whether ordinary pods run on control planes; yes if there are no workers"""
    dns_domain: DomainName = "cluster.local"


class TalosSettings(Section):
    """What Talos does on every node."""

    sysctls: dict[str, str] = {}
    registry_mirrors: dict[str, list[Url]] = {}
    """host of a registry -> URLs of its mirrors"""
    kubespan: bool = False
    """WireGuard between all nodes"""
    discovery: bool = True
    """let nodes find each other through the discovery service"""
    kube_prism: bool = True
    """a load balancer for the Kubernetes API on every node"""
    host_dns: bool = True
    """a DNS cache on every node, which also serves pods"""


class Route(Section):
    to: Network
    via: Address
    metric: Annotated[int, Field(ge=0)] | None = None


class Bond(Section):
    """Several network interfaces as one."""

    interfaces: Annotated[list[Interface], Field(min_length=1)]
    mode: Literal[
        "balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"
    ] = "802.3ad"
    lacp_rate: Literal["slow", "fast"] | None = None
    xmit_hash_policy: Literal["layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4"] | None = None
    miimon: Annotated[int, Field(ge=1)] | None = None
    """milliseconds between link checks"""


class DiskSelector(Section):
    """The install disk, by its properties; all that are set must match."""

    size: str | None = None
    """for example `>= 100GB`"""
    name: str | None = None
    model: str | None = None
    """may hold `*`"""
    serial: str | None = None
    modalias: str | None = None
    uuid: str | None = None
    wwid: str | None = None
    type: Literal["ssd", "hdd", "nvme", "sd"] | None = None
    busPath: str | None = None  # noqa: N815 - the name Talos has for it

    @model_validator(mode="after")
    def _selects(self) -> DiskSelector:
        given = {name: getattr(self, name) for name in self.model_fields_set}
        if not any(given.values()):
            raise wrong("this selects no disk", why="any disk would match", fix="for example `{type: nvme}`")
        return self


class Volume(Section):
    """A user volume on a further disk, mounted at /var/mnt/<name>."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9-]{0,32}[A-Za-z0-9])?$")]
    disk: VolumeDisk
    """device (/dev/sdb), serial number (plain or `{serial: …}`), or a CEL expression such as
    `disk.transport == "nvme"`"""
    min_size: SizeMib | None = None
    max_size: SizeMib | None = None
