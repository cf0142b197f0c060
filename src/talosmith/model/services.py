"""Storage, gateways, DNS, load balancing, backups and the repository of a cluster.

Read and checked with the inventory; nothing acts on them yet (`inventory/rules/not_built.py`).
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from talosmith.model.section import Section, shorthand
from talosmith.model.values import Address, Asn, DomainName, Host, Name, Network, SecretReference, wrong

GUEST_AGENT = "siderolabs/qemu-guest-agent"


class Image(Section):
    """The Talos image that machines boot and install."""

    extensions: list[Annotated[str, Field(pattern=r"^[a-z0-9-]+/[a-z0-9._-]+$")]] = []
    """system extensions, for example `siderolabs/qemu-guest-agent`; their order is part of the image's id"""
    kernel_args: list[Annotated[str, Field(min_length=1)]] = []
    schematic: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    """schematic id, instead of extensions and kernel_args"""
    secureboot: bool = False
    factory: Host = "factory.talos.dev"
    """host of the image factory"""


class Addon(Section):
    """Settings of one add-on."""

    enabled: bool = True
    version: str | None = None
    """pinned version; talosmith's default if left out"""
    namespace: Name | None = None
    values: dict[str, Any] = {}
    """Helm values on top of talosmith's own"""


def _addon(value: Any) -> Any:
    if value is None:
        return {}
    return {"enabled": value} if isinstance(value, bool) else value


Addons = dict[Name, Annotated[Addon, shorthand(_addon, bool | Addon | None)]]


def _absolute_path(value: str) -> str:
    if not value.startswith("/") or ".." in value.split("/"):
        raise wrong(f"`{value}` is not the absolute path of a share", fix="for example /export/k8s")
    return value


class Nfs(Section):
    """An NFS share that becomes a StorageClass."""

    server: Host
    share: Annotated[str, AfterValidator(_absolute_path)]
    sub_dir: str | None = None
    mount_options: list[str] = ["nfsvers=4.1"]
    reclaim_policy: Literal["Delete", "Retain"] = "Delete"
    default: bool = True
    """make it the default StorageClass"""


class Gateways(Section):
    """Addresses of the gateways."""

    internal: Address
    external: Address | None = None
    dns: Address | None = None
    """address that the home network forwards DNS queries for the domain to"""


class Dns(Section):
    """DNS of the domain, public and internal."""

    provider: Literal["cloudflare", "none"] = "none"
    token: SecretReference | None = None
    internal: Literal["k8s-gateway", "unifi", "none"] = "k8s-gateway"


class Ingress(Section):
    mode: Literal["cloudflare-tunnel", "direct", "none"] = "none"
    tunnel: SecretReference | None = None
    """credentials of the tunnel"""


def _controller_url(value: str) -> str:
    if not re.match(r"https?://[^/\s]+", value):
        raise wrong(f"`{value}` is not the address of a UniFi controller", fix="for example https://192.168.1.1")
    return value


class Unifi(Section):
    """A UniFi controller that serves the DNS records, instead of k8s-gateway."""

    host: Annotated[str, AfterValidator(_controller_url)]
    api_key: SecretReference
    site: str = "default"
    external_controller: bool = False


class Bgp(Section):
    """Cilium announces service addresses to this router."""

    router_addr: Address
    router_asn: Asn
    node_asn: Asn
    lb_pool_cidr: Network | None = None
    hold_time: Annotated[int, Field(ge=3, le=300)] = 30
    keepalive_time: Annotated[int, Field(ge=1, le=100)] = 10
    graceful_restart: bool = False
    graceful_restart_time: Annotated[int, Field(ge=30, le=600)] = 120
    ecmp_max_paths: Annotated[int, Field(ge=1, le=16)] = 3
    password: SecretReference | None = None


class Cilium(Section):
    loadbalancer_mode: Literal["dsr", "snat"] = "dsr"
    bgp: Bgp | None = None


def _age_recipient(value: str) -> str:
    if not re.fullmatch(r"age1[0-9a-z]{20,2500}", value):
        raise wrong("this is not an age public key", fix="it starts with age1; never put the private key here")
    return value


class EtcdBackup(Section):
    """etcd snapshots, encrypted, in an S3 bucket."""

    endpoint: Annotated[str, Field(pattern=r"^https?://\S+$")]
    bucket: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")]
    region: str = "us-east-1"
    access_key: SecretReference
    secret_key: SecretReference
    age_public_key: Annotated[str, AfterValidator(_age_recipient)]
    schedule: Annotated[str, Field(pattern=r"^(@(hourly|daily|weekly)|\S+( \S+){4})$")] = "@daily"


class Backup(Section):
    etcd: EtcdBackup


def _repository_url(value: str) -> str:
    if not re.fullmatch(r"(https?://[^/\s@]+|ssh://[^/\s@]+@[^/\s@]+)/\S+", value):
        raise wrong(
            f"`{value}` is not the URL of a Git repository",
            why="the short scp form is not understood by all Git clients, and credentials do not belong here",
            fix="for example ssh://git@github.com/owner/repo.git or https://host/owner/repo",
        )
    return value


class Repository(Section):
    """The Git repository of the cluster."""

    url: Annotated[str, AfterValidator(_repository_url)]
    branch: Annotated[str, Field(min_length=1)] = "main"
    visibility: Literal["public", "private"] = "private"
    webhook_provider: Literal["github", "gitlab", "generic-hmac", "none"] = "github"
    known_hosts: str = ""
    deploy_key: SecretReference | None = None


class Gitops(Section):
    """How the cluster is synced from its repository."""

    engine: Literal["flux"] = "flux"
    path: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_./-]*$")] = "kubernetes"
    """folder in the repository that the tree is written to"""
    interval: Annotated[str, Field(pattern=r"^\d+(s|m|h)$")] = "1h"


class Services(Section):
    """All of the above, as top-level keys of the inventory."""

    nfs: Nfs | None = None
    addons: Addons = {}
    domain: DomainName | None = None
    gateways: Gateways | None = None
    dns: Dns = Dns.model_construct()
    ingress: Ingress = Ingress.model_construct()
    unifi: Unifi | None = None
    cilium: Cilium = Cilium.model_construct()
    backup: Backup | None = None
    repository: Repository | None = None
    gitops: Gitops | None = None
