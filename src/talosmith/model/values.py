"""The kinds of value an inventory holds: each says what is wrong with a bad one, why, and what was probably meant.

They are pydantic types, so the same definitions check files, make the editor's schema and type the frozen model.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from talosmith.model.versions import Version

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network


def wrong(what: str, *, why: str = "", fix: str = "") -> PydanticCustomError:
    """An error whose parts survive pydantic: they come out again in the problem shown to the user."""
    return PydanticCustomError("talosmith", "{what}", {"what": what, "why": why, "fix": fix})


def _text(value: Any, noun: str) -> str:
    if isinstance(value, str):
        return value
    found = "a number" if isinstance(value, int | float) and not isinstance(value, bool) else "not text"
    raise wrong(f"{noun} is expected, but this is {found}", fix="put it in quotes if it is meant as text")


def _kind(check: Callable[[Any], Any], description: str, **schema: Any) -> Any:
    return BeforeValidator(check), WithJsonSchema({"type": "string", "description": description, **schema})


# --- names -----------------------------------------------------------------------------------------------------

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")
_FQDN = re.compile(r"(?=.{1,253}\Z)([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.)+[a-z]{2,63}\Z")
_WHY_LABEL = "it becomes a host name (RFC 1123): lower-case letters, digits and `-`, at most 63"


def _name(value: Any) -> str:
    text = _text(value, "a name")
    if not _LABEL.match(text):
        likely = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:63].strip("-")
        raise wrong(
            f"`{text}` is not a valid name", why=_WHY_LABEL, fix=f"did you mean `{likely}`?" if likely else ""
        )
    return text


def _name_prefix(value: Any) -> str:
    text = _text(value, "a prefix for names")
    if not _LABEL.match(text + "1") or len(text) > 50:
        raise wrong(f"`{text}` cannot begin a name", why=_WHY_LABEL, fix="for example `cp-`")
    return text


def _domain_name(value: Any) -> str:
    text = _text(value, "a domain name")
    if not _FQDN.match(text):
        raise wrong(f"`{text}` is not a domain name", fix="for example `k8s.example.org`, in lower case")
    return text


Name = Annotated[str, *_kind(_name, "RFC 1123 label", pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
NamePrefix = Annotated[str, *_kind(_name_prefix, "what names begin with, for example `cp-`")]
DomainName = Annotated[str, *_kind(_domain_name, "fully qualified domain name")]

# --- the network -----------------------------------------------------------------------------------------------


def _address(value: Any) -> IpAddress:
    text = _text(value, "an IP address")
    try:
        return ip_address(text)
    except ValueError:
        alone = text.partition("/")[0]
        fix = f"did you mean `{alone}`?" if alone != text and _is_address(alone) else "for example `10.0.0.10`"
        raise wrong(f"`{text}` is not an IP address", fix=fix) from None


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _network(value: Any) -> IpNetwork:
    text = _text(value, "a network")
    try:
        return ip_network(text)
    except ValueError:
        pass
    try:
        meant = ip_network(text, strict=False)
    except ValueError:
        raise wrong(f"`{text}` is not a network", fix="for example `10.0.0.0/24`") from None
    why = "the address has bits set to the right of the prefix"
    raise wrong(f"`{text}` is an address inside a network, not a network", why=why, fix=f"did you mean {meant}?")


def _mac(value: Any) -> str:
    text = _text(value, "a MAC address").lower().replace("-", ":")
    if not re.fullmatch(r"([0-9a-f]{2}:){5}[0-9a-f]{2}", text):
        raise wrong(f"`{value}` is not a MAC address", fix="for example `52:54:00:c1:00:01`")
    if int(text[1], 16) & 1:
        raise wrong(f"`{text}` is a multicast address", why="a network card has an even second digit")
    return text


def _interface(value: Any) -> str:
    text = _text(value, "the name of a network card")
    if not text.strip():
        raise wrong("this is empty", why="the link would have no selector", fix="for example `eth0`")
    if _is_mac(text):
        raise wrong(f"`{text}` is a MAC address, not the name of a network card", fix="did you mean `mac_addr`?")
    if not re.fullmatch(r"[^\s/]{1,63}", text) or not text.isprintable():
        raise wrong(f"`{text[:80]}` is not the name of a network card", fix="for example `eth0`")
    return text


def is_interface(value: Any) -> bool:
    """Whether an inventory takes the value as the name of a network card."""
    try:
        _interface(value)
    except PydanticCustomError:
        return False
    return True


def _is_mac(text: str) -> bool:
    return re.fullmatch(r"([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}", text) is not None


def _host(value: Any) -> str:
    text = _text(value, "a host name or address")
    if _is_address(text) or _LABEL.match(text) or _FQDN.match(text):
        return text
    raise wrong(f"`{text}` is neither an address nor a host name")


Address = Annotated[IpAddress, *_kind(_address, "IP address", examples=["10.0.0.10"])]
Network = Annotated[IpNetwork, *_kind(_network, "network in CIDR form", examples=["10.0.0.0/24"])]
Mac = Annotated[str, *_kind(_mac, "MAC address", examples=["52:54:00:c1:00:01"])]
Interface = Annotated[str, *_kind(_interface, "name of a network card", pattern=r"^[^\s/]{1,63}$")]
Host = Annotated[str, *_kind(_host, "host name or IP address")]
Mtu = Annotated[int, Field(ge=576, le=9216, description="bytes in a packet; 1500 unless the network carries more")]
Vlan = Annotated[int, Field(ge=1, le=4094, description="VLAN tag")]
Asn = Annotated[int, Field(ge=1, le=4294967295, description="BGP autonomous system number")]

# --- sizes -----------------------------------------------------------------------------------------------------

_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)\s*([KMGT])(?:iB?|B)?\Z", re.IGNORECASE)
_IN_MIB = {"K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0 * 1024}


def parse_size(text: str) -> int | None:
    """MiB, or None if the text is no size. `G` and `Gi` both mean 1024 MiB, as hypervisors mean it."""
    found = _SIZE.match(text)
    return round(float(found[1]) * _IN_MIB[found[2].upper()]) if found else None


def _memory(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        if value > 0:
            return value
    elif isinstance(value, str):
        size = parse_size(value)
        if size:
            return size
    raise wrong(f"`{value}` is not an amount of memory", fix="write MiB as a number (8192), or a size (8G)")


def _size_mib(value: Any) -> int:
    size = parse_size(value) if isinstance(value, str) else None
    if not size:
        raise wrong(f"`{value}` is not a disk size", fix="for example 50G")
    return size


Memory = Annotated[
    int,
    BeforeValidator(_memory),
    WithJsonSchema(
        {
            "type": ["integer", "string"],
            "description": "memory in MiB, or with a unit",
            "examples": [8192, "8G"],
        }
    ),
]
SizeMib = Annotated[int, *_kind(_size_mib, "size of a disk", examples=["50G"])]

# --- versions, secrets, Kubernetes -----------------------------------------------------------------------------


def _version(value: Any) -> Version:
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise wrong("this is a number, not a full version", fix="write all three parts, for example v1.14.1")
    text = _text(value, "a version")
    try:
        return Version.parse(text)
    except ValueError:
        raise wrong(f"`{text}` is not a full version", fix="write all three parts, for example v1.14.1") from None


@dataclass(frozen=True, slots=True)
class SecretRef:
    """Where a secret is found when it is needed: `env:NAME` or `sops:key.in.secrets.sops.yaml`."""

    source: Literal["env", "sops"]
    name: str

    def __str__(self) -> str:
        return f"{self.source}:{self.name}"


def _secret(value: Any) -> SecretRef:
    source, _, name = value.partition(":") if isinstance(value, str) else ("", "", "")
    if re.fullmatch(r"[A-Za-z0-9_.-]{1,100}", name):
        if source == "env":
            return SecretRef("env", name)
        if source == "sops":
            return SecretRef("sops", name)
    raise wrong(
        "a secret stands here in plain text, or the reference to it is malformed",
        why="inventories are committed; secrets live in secrets.sops.yaml or in the environment",
        fix="write `sops:path.in.secrets` or `env:VARIABLE`",
    )


def _fingerprint(value: Any) -> str:
    """In base64, as Talos writes it on the console; hex is taken too."""
    found = fingerprint_in(_text(value, "a fingerprint"))
    if not found:
        raise wrong(
            f"`{value}` is not a fingerprint of a certificate",
            why="a machine in maintenance mode shows it on its console: 44 characters of base64",
            fix="copy it from there; 64 hexadecimal digits are fine too",
        )
    return found


def fingerprint_in(text: str) -> str:
    """In base64, from base64 or hex, with or without colons; empty if it is none."""
    plain = text.strip().replace(":", "")
    try:
        digest = bytes.fromhex(plain) if len(plain) == 64 else base64.b64decode(plain, validate=True)
    except (ValueError, binascii.Error):
        return ""
    return base64.b64encode(digest).decode() if len(digest) == 32 else ""


def _label_key(value: Any) -> str:
    text = _text(value, "a label's name")
    prefix, slash, name = text.rpartition("/")
    if not re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", name) or (
        slash and not (_FQDN.match(prefix) or _LABEL.match(prefix))
    ):
        raise wrong(f"`{text}` is not a valid Kubernetes label or taint name", fix="for example `example.org/rack`")
    return text


def _label_value(value: Any) -> str:
    text = _text(value, "a label's value")
    if text and not re.fullmatch(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", text):
        raise wrong(f"`{text}` is not a valid label value", why="letters, digits, `-`, `_` and `.`, at most 63")
    return text


def _taint(value: Any) -> str:
    text = _text(value, "a taint")
    key, _, effect = text.rpartition(":")
    key, _, taint_value = key.partition("=")
    if effect not in ("NoSchedule", "PreferNoSchedule", "NoExecute") or not key:
        fix = "for example `dedicated=gpu:NoSchedule`; effects: NoSchedule, PreferNoSchedule, NoExecute"
        raise wrong(f"`{text}` is not a taint", fix=fix)
    _label_key(key)
    _label_value(taint_value)
    return text


FullVersion = Annotated[Version, *_kind(_version, "version with all three parts", examples=["v1.14.1"])]
SecretReference = Annotated[
    SecretRef,
    *_kind(_secret, "where the secret is: `sops:key` or `env:NAME`", pattern="^(env|sops):[A-Za-z0-9_.-]+$"),
]
Fingerprint = Annotated[str, *_kind(_fingerprint, "SHA-256 of a certificate's public key, base64 or hex")]
LabelKey = Annotated[str, *_kind(_label_key, "Kubernetes label name")]
LabelValue = Annotated[str, *_kind(_label_value, "Kubernetes label value")]
Taint = Annotated[str, *_kind(_taint, "`key=value:Effect`", examples=["dedicated=gpu:NoSchedule"])]
SchematicId = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="image factory schematic id")]
