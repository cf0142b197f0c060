"""The text of a new inventory: as written by hand, with comments."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from talosmith.inventory.parse import resolve_plain
from talosmith.model.versions import RECOMMENDED

_COMPLETION = "# yaml-language-server: $schema=./.talosmith/{part}.schema.json\n"
_IMAGE = """
# image:
#   extensions: [siderolabs/qemu-guest-agent]
"""
_SAFE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9./:+@!_-]*[A-Za-z0-9/])?\Z")


@dataclass(frozen=True)
class NewInventory:
    """The answers for a new inventory; None: the provider's default."""

    name: str = "demo"
    provider: str = "lab"
    controlplanes: int = 1
    workers: int = 2
    node_cidr: str | None = None
    gateway: str | None = None
    vip: str | None = None
    disk: str | None = None
    interface: str | None = None
    talos_version: str = RECOMMENDED.latest
    kubernetes_version: str = RECOMMENDED.kubernetes
    proxmox_url: str | None = None
    proxmox_node: str | None = None
    libvirt_uri: str | None = None
    bridge: str | None = None
    region: str | None = None
    domain: str | None = None


def cluster_text(answers: NewInventory) -> str:
    return (
        _COMPLETION.format(part="cluster")
        + f"""\
# The cluster {_quoted(answers.name)}: `talosmith validate` checks it, `talosmith show` shows all resolved values.
cluster_name: {_quoted(answers.name)}

# renovate: datasource=github-releases depName=siderolabs/talos
talos_version: {_quoted(answers.talos_version)}
# renovate: datasource=github-releases depName=kubernetes/kubernetes
kubernetes_version: {_quoted(answers.kubernetes_version)}

network:
{_network(answers)}
  pod_cidr: 10.244.0.0/16
  svc_cidr: 10.96.0.0/12

{_PROVIDERS[answers.provider](answers)}{_IMAGE if answers.provider != "aws" else ""}"""
    )


def nodes_text(answers: NewInventory) -> str:
    sizes = "" if answers.provider in ("metal", "aws") else "  cpu: 2\n  ram: 4G\n"
    disk = answers.disk or {"metal": None, "docker": None}.get(answers.provider, "20G")
    sizes += f"  disk: {_quoted(disk)}\n" if disk else ""
    sizes += f"  interface: {_quoted(answers.interface)}\n" if answers.interface else ""
    return (
        _COMPLETION.format(part="nodes")
        + f"""\
# A number of equal nodes (cp-1, cp-2 …), or a list when they differ:
#   controlplane:
#     - {{name: cp-1, ip: 10.0.0.10, disk: 40G}}
controlplane:
  count: {answers.controlplanes}
{sizes}
workers:
  count: {answers.workers}
{sizes}"""
    )


def _network(answers: NewInventory) -> str:
    lines = []
    if answers.provider == "aws":
        lines.append("  # Nodes live in aws.vpc_cidr; the API is behind a load balancer.")
    elif answers.node_cidr:
        lines.append(f"  node_cidr: {_quoted(answers.node_cidr)}")
        first, second = _offsets(answers)
        lines.append(f"  # The first control plane is address {first} of it, the first worker address {second}.")
        lines.append(f"  cp_ip_offset: {first}\n  worker_ip_offset: {second}")
    elif answers.provider in ("lab", "docker"):
        lines.append(f"  # {answers.provider} assigns the addresses of the nodes.")
    if answers.gateway:
        lines.append(f"  gateway: {_quoted(answers.gateway)}")
    if answers.vip:
        lines.append("  # Virtual IP of the Kubernetes API; moves to another control plane when its holder fails.")
        lines.append(f"  vip: {_quoted(answers.vip)}")
    return "\n".join(lines)


def _offsets(answers: NewInventory) -> tuple[int, int]:
    """Offsets of the first control plane and worker: 10 and 20, or the next ones that leave out the Proxmox host."""
    try:
        network = ip_network(answers.node_cidr or "")
        taken = int(ip_address(urlsplit(answers.proxmox_url or "").hostname or "")) - int(network.network_address)
    except ValueError:
        return 10, 20  # the host is known by name; what else is wrong is said by the rules
    for first, second in ((10, 20), (30, 40), (110, 120)):
        if not (0 <= taken - first < answers.controlplanes or 0 <= taken - second < answers.workers):
            return first, second
    return 10, 20


def _lab(answers: NewInventory) -> str:
    return """\
# Simulated machines on this computer. `realistic` boots as slowly as real ones do.
lab:
  clock: fast
"""


def _libvirt(answers: NewInventory) -> str:
    attach = f"bridge: {_quoted(answers.bridge)}" if answers.bridge else "network: default"
    return f"""\
libvirt:
  uri: {_quoted(answers.libvirt_uri or "qemu:///system")}
  pool: default
  {attach}
"""


def _proxmox(answers: NewInventory) -> str:
    node = answers.proxmox_node or "pve"
    url = f"url: {_quoted(answers.proxmox_url)}" if answers.proxmox_url else f"# url: https://{_quoted(node)}:8006"
    return f"""\
proxmox:
  {url}
  # The API token; or PROXMOX_VE_API_TOKEN=user@realm!name=secret in the environment.
  # token_id: talosmith@pve!cluster
  # token_secret: sops:proxmox.token
  # Proxmox hosts have self-signed certificates: `pvenode cert info` on the host prints the fingerprint to trust.
  # fingerprint: "AA:BB:…"
  # The Proxmox node that runs the machines; `hosts: [pve1, pve2, pve3]` instead spreads them over several.
  node: {_quoted(node)}
  # Storage for disks, and one with the content types `iso` and `import` for NoCloud seeds and the disk image.
  datastore: local-lvm
  iso_storage: local
  bridge: {_quoted(answers.bridge or "vmbr0")}
  # What machines start from: `image` imports the disk image of Talos into the datastore, `iso` boots the ISO, which
  # installs Talos, `template` clones a template that talosmith creates; `template: NAME` clones your own.
  # boot: image
"""


def _aws(answers: NewInventory) -> str:
    region = answers.region or "eu-central-1"
    domain = f"domain: {_quoted(answers.domain)}" if answers.domain else "# domain: example.org"
    return f"""\
aws:
  # The only account in which anything is changed, and the profile of ~/.aws that reaches it:
  # account_id: "123456789012"
  # profile: default
  region: {_quoted(region)}
  azs: [{", ".join(_quoted(region + zone) for zone in "abc")}]
  vpc_cidr: 10.0.0.0/16
  instance_type: {{controlplane: t3.medium, workers: t3.large}}
  # The API is served at k8s.<domain>, a record in Route 53; without it, at the load balancer's own name.
  {domain}
  # Networks that may reach the Talos and Kubernetes APIs; only your own address if left out.
  # admin_cidrs: [203.0.113.0/24]
  # What the machines may do in AWS: `cloud-controller`, `ebs-csi`, `ecr-read-only`, or ARNs of policies.
  # iam: [ecr-read-only]
"""


def _docker(answers: NewInventory) -> str:
    return "# Talos in containers on this computer.\ndocker: {}\n"


def _metal(answers: NewInventory) -> str:
    return "# Existing machines, booted into maintenance mode.\nmetal: {}\n"


_PROVIDERS = {
    "lab": _lab,
    "libvirt": _libvirt,
    "proxmox": _proxmox,
    "aws": _aws,
    "docker": _docker,
    "metal": _metal,
}


def _quoted(text: str) -> str:
    """The text itself if that is safe YAML, else in quotes: answers are user input."""
    return text if _SAFE.match(text) and resolve_plain(text) == text else json.dumps(text)
