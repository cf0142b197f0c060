"""Providers: one block of the inventory each. Exactly one is used; without a block, the lab."""

from __future__ import annotations

import re
from ipaddress import ip_network
from typing import Annotated, Any, ClassVar, Literal
from urllib.parse import unquote

from pydantic import AfterValidator, Field, PositiveInt

from talosmith.model.section import Section, shorthand
from talosmith.model.values import DomainName, IpNetwork, Name, Network, SecretReference, Vlan, wrong


class ProviderSection(Section):
    """What resolving needs from every provider."""

    name: ClassVar[str]
    platform: ClassVar[str]  # which Talos image the machines boot
    install_device: ClassVar[str | None] = None  # what Talos finds the first disk as
    sized: ClassVar[bool] = True  # machines are created with the CPU and memory of the inventory …
    virtual: ClassVar[bool] = True  # … and with disks and a network interface, whose MAC address talosmith chooses
    has_api_balancer: ClassVar[bool] = False
    gives_addresses: ClassVar[bool] = False  # else by static configuration, or DHCP reservations
    built: ClassVar[bool] = True  # False: machine configs can be rendered, machines cannot be created yet


class Lab(ProviderSection):
    """Simulated machines on this computer; nothing to install."""

    name = "lab"
    platform = "metal"
    install_device = "/dev/vda"
    gives_addresses = True

    clock: Literal["instant", "fast", "realistic"] = "fast"
    """speed of simulated boots and installs"""
    kubernetes: Literal["simulated", "real"] = "simulated"
    """`real` runs etcd and kube-apiserver from PATH"""


_LIBVIRT_URI = re.compile(r"[a-z]+(?:\+(?P<transport>[a-z0-9]+))?://[^?#]*(?:[?#](?P<options>.*))?", re.DOTALL)
_VERIFYING = ("unix", "ssh", "libssh", "libssh2", "tls")  # without a transport it is a local socket, or tls to a host
_VERIFICATION = {"no_verify": "0", "known_hosts_verify": "normal"}  # of the certificate or ssh host key: these only
_REMOTE = "qemu+ssh://user@host/system or qemu+tls://host/system"


def _libvirt_uri(value: str) -> str:
    found = _LIBVIRT_URI.fullmatch(value)
    if not found:
        fix = "for example qemu:///system or qemu+ssh://user@host/system"
        raise wrong(f"`{value}` is not a libvirt URI", fix=fix)
    transport = found["transport"]
    if transport == "tcp":
        why = "libvirt neither encrypts such a connection nor verifies the host"
        raise wrong("the transport `tcp` is not allowed", why=why, fix=f"use {_REMOTE}")
    if transport and transport not in _VERIFYING:
        why = "talosmith does not know whether it verifies the host"
        raise wrong(f"the transport `{transport}` is not allowed", why=why, fix=f"use {_REMOTE}")
    for option in re.split("[?&;#]", found["options"] or ""):  # libvirt also splits at `;`
        name, _, setting = unquote(option).partition("=")
        if _VERIFICATION.get(name.lower(), setting) != setting:
            why = "without verification, anyone on the network path can answer in place of the host"
            fix = "remove it; for tls install the CA certificate (`pkipath`), for ssh add the host key to known_hosts"
            raise wrong(f"`{option}` is not allowed: it turns off verification of the host", why=why, fix=fix)
    return value


def _checksum(value: str) -> str:
    kind, _, digits = value.lower().rpartition(":")
    if not re.fullmatch(
        {"": r"[0-9a-f]{64}", "sha256": r"[0-9a-f]{64}", "sha512": r"[0-9a-f]{128}"}.get(kind, "-"), digits
    ):
        raise wrong("this is not a checksum", fix="64 hexadecimal digits of SHA-256, or sha512: and 128 of them")
    return f"{kind or 'sha256'}:{digits}"


class Libvirt(ProviderSection):
    """Virtual machines on a KVM host, local or over ssh."""

    name = "libvirt"
    platform = "nocloud"
    install_device = "/dev/vda"

    uri: Annotated[str, AfterValidator(_libvirt_uri)] = "qemu:///system"
    pool: str = "default"
    """storage pool for images, disks and seeds"""
    network: str | None = None
    """libvirt network to attach to"""
    bridge: str | None = None
    """host bridge to attach to, instead of a libvirt network"""
    make_network: Literal["nat", "isolated"] | None = None
    """create the network if it does not exist; the host gets the gateway's address in it"""
    pool_path: Annotated[str, Field(pattern="^/")] | None = None
    """folder on the host for the pool; the pool is created if it does not exist"""
    image: str | None = None
    """disk image that machines start from, a file here or a URL; the image factory's if left out"""
    image_checksum: Annotated[str, AfterValidator(_checksum)] | None = None
    """SHA-256 of the image, or `sha512:…`, as it is served: before it is unpacked"""
    domain_type: Literal["auto", "kvm", "qemu"] = "auto"
    """`auto` is kvm where machines run with it; `qemu` is software emulation, many times slower"""
    firmware: Literal["bios", "uefi"] = "bios"
    tpm: bool = False
    """an emulated TPM 2.0; needs swtpm on the host"""
    cpu_model: str | None = None
    """a libvirt CPU model; if left out the host's CPU, or the emulator's maximum"""
    autostart: bool = True
    """machines start with their host"""


VmidNumber = Annotated[int, Field(ge=100, le=999_999_999)]


class VmidBase(Section):
    controlplane: VmidNumber = 2000
    workers: VmidNumber = 3000
    templates: VmidNumber = 9000
    """templates that talosmith creates take a free VMID from here on"""


def _proxmox_url(value: str) -> str:
    if not re.match(r"https://[^/\s]+", value):
        raise wrong(f"`{value}` is not the address of a Proxmox VE API", fix="for example https://192.168.1.10:8006")
    return value.rstrip("/")


def _token_id(value: str) -> str:
    if not re.fullmatch(r"[^\s@!]+@[^\s@!]+![^\s@!=]+", value):
        raise wrong("this is not a token id", fix="it has the form user@realm!name; the secret is not part of it")
    return value


def _fingerprint(value: str) -> str:
    text = value.replace(":", "").lower()
    if not re.fullmatch(r"[0-9a-f]{64}", text):
        raise wrong("this is not a SHA-256 fingerprint", fix="64 hexadecimal digits, with or without colons")
    return text


def _template(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def is_volume(text: str) -> bool:
    """Whether an image or ISO is named by its volume id in Proxmox, as `local:iso/talos.iso`."""
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9._-]+:(?!//)\S+", text) is not None


class Proxmox(ProviderSection):
    """Virtual machines on Proxmox VE 8 or 9."""

    name = "proxmox"
    platform = "nocloud"
    install_device = "/dev/sda"

    url: Annotated[str, AfterValidator(_proxmox_url)] | None = None
    """API address; `PROXMOX_VE_URL` in the environment if left out"""
    token_id: Annotated[str, AfterValidator(_token_id)] | None = None
    """`user@realm!name`; `PROXMOX_VE_API_TOKEN` (`user@realm!name=secret`) in the environment if left out"""
    token_secret: SecretReference | None = None
    fingerprint: Annotated[str, AfterValidator(_fingerprint)] | None = None
    """SHA-256 of the server's certificate, for hosts with a self-signed one"""
    ca: str | None = None
    """file with the CA of the server's certificate, relative to the inventory"""
    node: str | None = None
    """Proxmox node that runs the machines"""
    hosts: list[str] = []
    """several Proxmox nodes instead; machines of each role are spread over them in turn"""
    datastore: str = "local-lvm"
    """storage for disks"""
    iso_storage: str = "local"
    """storage for ISO files and seeds; needs the content type `iso`"""
    image_storage: str | None = None
    """storage for disk images; needs the content type `import`; iso_storage if left out"""
    bridge: str = "vmbr0"
    vlan: Vlan | None = None
    """VLAN tag of the machines' network interface, set by Proxmox"""
    boot: Literal["image", "iso", "template"] | None = None
    """what machines start from: an imported disk image, an ISO that installs Talos, or a clone of a template; if left
    out, what `template` or `iso` name, the ISO for secure boot, else the image"""
    image: str | None = None
    """disk image: a file here, a URL, or a volume of Proxmox such as `local:import/talos.raw`; the image factory's if
    left out"""
    iso: str | None = None
    """ISO: a volume of Proxmox such as `local:iso/talos.iso`, a file here, or a URL; the image factory's if left
    out"""
    image_checksum: Annotated[str, AfterValidator(_checksum)] | None = None
    """SHA-256 of `image` or `iso`, or `sha512:…`, as it is served: before it is unpacked"""
    template: Annotated[str, shorthand(_template, str | int)] | None = None
    """name or VMID of an existing template to clone; with `boot: template` alone, talosmith creates one"""
    clone: Literal["full", "linked"] = "full"
    """linked clones take no space of their own, and keep the template from being deleted"""
    seed: bool = True
    """attach a NoCloud seed with the machine config; without it, machines wait in maintenance mode at the address
    that DHCP gave them, and are found by their MAC address"""
    firmware: Literal["uefi", "bios"] = "uefi"
    tpm: bool = False
    """a TPM 2.0, stored in the datastore"""
    cpu_type: str = "host"
    """`host`, or x86-64-v2-AES and newer: older types crash Talos"""
    scsi_controller: Literal["virtio-scsi-pci", "virtio-scsi-single"] = "virtio-scsi-pci"
    pool: str | None = None
    """Proxmox pool that the machines become members of"""
    tags: list[Annotated[str, Field(pattern=r"^[a-z0-9_][a-z0-9_+.-]*$")]] = []
    """tags besides talosmith's own"""
    autostart: bool = True
    """machines start with their host"""
    start_order: PositiveInt | None = None
    """start order of control planes; workers come next. The token needs Sys.Modify on / for it"""
    vmid_base: VmidBase = VmidBase.model_construct()

    @property
    def nodes(self) -> tuple[str, ...]:
        """Of the Proxmox cluster, those that machines are created on."""
        return tuple(self.hosts) or ((self.node,) if self.node else ())

    @property
    def images_in(self) -> str:
        """The storage for disk images."""
        return self.image_storage or self.iso_storage

    def start_order_of(self, role: str) -> int | None:
        """Workers start after control planes."""
        return None if self.start_order is None else self.start_order + (role == "worker")

    def start_of(self, *, secureboot: bool) -> Literal["image", "iso", "template"]:
        """What a machine starts from: for secure boot the ISO, since disk images have no keys to enroll."""
        return "iso" if secureboot and self.boot is None and not self.template else self.starts_from

    @property
    def starts_from(self) -> Literal["image", "iso", "template"]:
        """Without a look at secure boot, which needs the ISO."""
        return self.boot or ("template" if self.template else "iso" if self.iso else "image")


class PerRole(Section):
    controlplane: str
    workers: str


AWS_POLICIES = ("cloud-controller", "ebs-csi", "ecr-read-only")  # those that have a short name


def _policy(value: str) -> str:
    if value not in AWS_POLICIES and not re.fullmatch(r"arn:aws[a-z-]*:iam::(aws|\d{12}):policy/\S+", value):
        known = ", ".join(f"`{name}`" for name in AWS_POLICIES)
        raise wrong(f"`{value}` is not a policy", fix=f"one of {known}, or the ARN of a policy")
    return value


Policy = Annotated[str, AfterValidator(_policy)]


class PoliciesPerRole(Section):
    controlplane: list[Policy] = []
    workers: list[Policy] = []


def _for_both_roles(value: Any) -> Any:
    return value if isinstance(value, dict) else {"controlplane": value, "workers": value}


class ExistingSubnet(Section):
    id: Annotated[str, Field(pattern=r"^subnet-[0-9a-f]{8,17}$")]
    cidr: Network
    """network of the subnet, as it is"""


class AwsBalancer(Section):
    internal: bool = False
    """reachable from inside the VPC only"""
    talos_api: bool = False
    """the Talos API of the control planes, too, at port 50000"""


def _aws_tag(value: str) -> str:
    if value.startswith(("aws:", "talosmith", "kubernetes.io/")) or value == "Name":
        raise wrong(f"`{value}` is a tag that AWS, talosmith or Kubernetes sets", fix="choose another name")
    return value


def _hosted_zone(value: str) -> str:
    text = value.removeprefix("/hostedzone/").rstrip(".")
    if not re.fullmatch(r"Z[A-Z0-9]{1,31}|([a-z0-9_-]+\.)+[a-z0-9-]+", text):
        fix = "its name, as example.org, or its id, as Z0123456789ABCDEFGHIJ"
        raise wrong(f"`{value}` is not a hosted zone", fix=fix)
    return text


_KMS_KEY = re.compile(
    r"(arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:)?alias/[\w/-]+"
    r"|(arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:key/)?([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|mrk-[0-9a-f]{32})"
)


def _kms_key(value: str) -> str:
    if not _KMS_KEY.fullmatch(value):
        fix = "its id, as 01234567-89ab-cdef-0123-456789abcdef, an alias, as alias/talos, or an ARN of one of them"
        raise wrong(f"`{value}` is not a KMS key", fix=fix)
    return value


AwsTag = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[\w .:=+@-]+$"), AfterValidator(_aws_tag)]


class Aws(ProviderSection):
    """EC2 instances in their own VPC.

    The Kubernetes API is behind a load balancer with a DNS name.
    """

    name = "aws"
    platform = "aws"
    sized = False
    virtual = False
    has_api_balancer = True
    gives_addresses = True

    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-\d$")]
    account_id: Annotated[str, Field(pattern=r"^\d{12}$")] | None = None
    """the only account in which anything is changed, in quotes; any account if left out"""
    profile: str | None = None
    """profile of ~/.aws; `AWS_PROFILE` and the other places that the AWS CLI looks in if left out"""
    vpc_cidr: Network = Field(default="10.0.0.0/16", validate_default=True)
    """network of the VPC, /16 to /24; with `vpc_id` the one that the VPC has"""
    vpc_id: Annotated[str, Field(pattern=r"^vpc-[0-9a-f]{8,17}$")] | None = None
    """an existing VPC; it and its internet gateway are used as they are"""
    azs: Annotated[list[str], Field(min_length=1, max_length=16)]
    """availability zones; machines are spread over them, each has a sixteenth of the VPC"""
    subnets: dict[str, ExistingSubnet] = {}
    """existing subnets by availability zone, used as they are, routes too; needs `vpc_id`"""
    private: bool = False
    """nodes have no public addresses, and reach the internet through NAT gateways; talosmith runs inside the VPC, or
    in a network with a route to it"""
    nat_gateways: Literal["one", "each-az"] = "one"
    """`one` costs less; with `each-az` the others keep working when an availability zone is lost"""
    reach: Literal["public", "private"] | None = None
    """addresses at which talosmith reaches the nodes; the public ones, unless nodes have none"""
    instance_type: Annotated[PerRole, shorthand(_for_both_roles, str | PerRole)] = PerRole.model_construct(
        controlplane="t3.medium", workers="t3.medium"
    )
    """of both roles, or of each; t3.medium if left out. Not t2: Talos does not support it"""
    spot: bool = False
    """workers are spot instances: cheaper, and AWS may take them back at any time"""
    ami: Annotated[str, Field(pattern=r"^ami-[0-9a-f]{8,17}$")] | None = None
    """image of all machines; the one that the makers of Talos publish for version, region and architecture if left
    out"""
    kms_key: Annotated[str, AfterValidator(_kms_key)] | None = None
    """KMS key that encrypts the disks; the account's own for EBS if left out"""
    seed: bool = True
    """machine configs as user data; without it, machines wait for them in maintenance mode"""
    metadata_hop_limit: Annotated[int, Field(ge=1, le=2)] | None = None
    """2 lets pods reach the instance metadata; if left out 2 with `cloud-controller` or `ebs-csi`, else 1"""
    termination_protection: bool = True
    """of control planes; `talosmith destroy` ends it first"""
    hosted_zone: Annotated[str, AfterValidator(_hosted_zone)] | None = None
    """Route 53 zone that gets the record, by name or id; the zone of `domain` if left out"""
    domain: DomainName | None = None
    """the API is served at k8s.<domain>; at the load balancer's own name if left out"""
    balancer: AwsBalancer = AwsBalancer.model_construct()
    """load balancer of the Kubernetes API"""
    admin_cidrs: list[Network] = []
    """networks that may reach the Talos and Kubernetes APIs; empty: only the caller's own address"""
    iam: Annotated[PoliciesPerRole, shorthand(_for_both_roles, list[Policy] | PoliciesPerRole)] = (
        PoliciesPerRole.model_construct()
    )
    """policies of the machines' roles: `cloud-controller`, `ebs-csi`, `ecr-read-only`, or ARNs"""
    tags: Annotated[dict[AwsTag, Annotated[str, Field(max_length=256)]], Field(max_length=40)] = {}
    """tags of all that is created, besides talosmith's own"""

    @property
    def reaches_public(self) -> bool:
        return (self.reach or ("private" if self.private else "public")) == "public"

    @property
    def hop_limit(self) -> int:
        in_pods = {"cloud-controller", "ebs-csi"} & {*self.iam.controlplane, *self.iam.workers}
        return self.metadata_hop_limit or (2 if in_pods else 1)


_ZONE_BITS = 4  # an availability zone has a sixteenth of the VPC
_PUBLIC = 8  # those of public subnets, beside private ones, begin here


def zone_subnet(section: Aws, zone: str, *, public: bool = False) -> IpNetwork:
    """The zone's part of the VPC; `public`: the one for NAT gateway and load balancer, where nodes are in private."""
    vpc = section.vpc_cidr
    index = section.azs.index(zone) + (_PUBLIC if public else 0)
    start = vpc.network_address + index * max(1, vpc.num_addresses >> _ZONE_BITS)
    return ip_network(f"{start}/{min(vpc.prefixlen + _ZONE_BITS, vpc.max_prefixlen)}")


class Docker(ProviderSection):
    """Talos in containers on this computer."""

    name = "docker"
    platform = "container"
    built = False
    virtual = False
    gives_addresses = True

    host: str | None = None
    """engine to use; the client's default if left out"""
    network: Name | None = None
    """name of the network to create; the cluster's name if left out"""


class Metal(ProviderSection):
    """Existing machines, booted into maintenance mode."""

    name = "metal"
    platform = "metal"
    sized = False
    virtual = False

    search: bool = False
    """find machines that are not at their `ip` yet by their MAC address: sends a packet to every address of
    node_cidr, which is a /22 at most"""


PROVIDERS: dict[str, type[ProviderSection]] = {
    section.name: section for section in (Lab, Libvirt, Proxmox, Aws, Docker, Metal)
}
