"""Add-ons, storage, gateways, DNS, load balancing, backups and the repository of a cluster."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from talosmith.model.section import Section, shorthand
from talosmith.model.values import Address, Asn, DomainName, Host, Name, Network, SecretReference, wrong

GUEST_AGENT = "siderolabs/qemu-guest-agent"
_UUID = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"


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


AddonStage = Literal["cni", "cloud", "dns", "apps"]  # in the order in which they are installed


def _sha256(value: str) -> str:
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", value):
        raise wrong(f"`{value}` is not a digest", fix="sha256: and 64 hexadecimal digits, as in charts.lock")
    return value


class AddonSettings(Section):
    """Settings of one add-on: of talosmith's own, or a chart or manifests of yours."""

    enabled: bool = True
    chart: Annotated[str, Field(min_length=1)] | None = None
    """`oci://host/path`, a chart's name in `repository`, or a folder or .tgz file of the inventory; talosmith's own
    source if left out"""
    repository: Annotated[str, Field(pattern=r"^https?://[^/\s@]+\S*$")] | None = None
    """URL of the HTTP repository that has `chart`"""
    version: Annotated[str, Field(min_length=1)] | None = None
    """version of the chart; talosmith's pinned one if left out"""
    digest: Annotated[str, AfterValidator(_sha256)] | None = None
    """of the chart archive: another content is refused; charts.lock has it, too"""
    manifests: Annotated[str, Field(min_length=1)] | None = None
    """file or folder of Kubernetes manifests, or folder with a kustomization.yaml, instead of a chart"""
    namespace: Name | None = None
    values: dict[str, Any] = {}
    """Helm values on top of talosmith's own; `sops:…` and `env:…` are replaced by the secret"""
    after: list[Name] = []
    """add-ons that are installed first"""
    stage: AddonStage | None = None
    """cni, cloud, dns or apps: when an add-on of yours is installed; `cni` also switches Talos' own CNI off"""


def _addon(value: Any) -> Any:
    if value is None:
        return {}
    return {"enabled": value} if isinstance(value, bool) else value


Addons = dict[Name, Annotated[AddonSettings, shorthand(_addon, bool | AddonSettings | None)]]


class Charts(Section):
    """Where charts are pulled from."""

    mirrors: dict[Host, Annotated[str, Field(pattern=r"^(oci|https?)://[^\s@]+$")]] = {}
    """host of a registry or repository -> address that is asked instead, such as `oci://registry.example.org/ghcr.io`;
    the rest of the path is appended"""


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
    """token of the tunnel"""
    tunnel_id: Annotated[str, Field(pattern=_UUID)] | None = None
    """id of the tunnel, for the DNS record that leads to it"""


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
    charts: Charts = Charts.model_construct()
    domain: DomainName | None = None
    gateways: Gateways | None = None
    dns: Dns = Dns.model_construct()
    ingress: Ingress = Ingress.model_construct()
    unifi: Unifi | None = None
    cilium: Cilium = Cilium.model_construct()
    backup: Backup | None = None
    repository: Repository | None = None
    gitops: Gitops | None = None
