"""TLS of the simulated nodes: self-made in maintenance mode, afterwards of the cluster's authority, for both sides.

The key of maintenance mode follows from the machine and its boot, so that a fingerprint once seen holds until the
next boot, even if the lab itself was restarted.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import ssl
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509.oid import NameOID

from talosmith.desired.certificate_file import show_certificate
from talosmith.desired.pki import CLIENT, SERVER, CertificateAndKey, new_leaf, write_key
from talosmith_lab import naming
from talosmith_lab.machine import Machine
from talosmith_lab.trust import signer_of
from talosmith_lab.world import World

_LIFETIME = timedelta(hours=24)
_MAINTENANCE_NAME = "maintenance-service.talos.dev"


def maintenance_context(world: World, machine: Machine) -> ssl.SSLContext:
    return _context(_maintenance_pair(world, machine))


def node_context(world: World, machine: Machine) -> ssl.SSLContext | None:
    """None while no control plane can sign the node's certificate."""
    config, signer = world.config(machine), signer_of(world, machine)
    if config is None or signer is None or config.authority is None:
        return None
    names = [
        *naming.addresses(world, machine),
        naming.hostname(world, machine),
        *config.cert_sans,
        "127.0.0.1",
        "::1",
    ]
    # OpenSSL reads a clock that is milliseconds behind: a certificate of this very second may not be valid yet.
    now = datetime.fromtimestamp(world.clock_of(machine), UTC) - timedelta(minutes=1)
    pair = new_leaf(
        signer,
        [],
        lifetime=_LIFETIME,
        usages=(SERVER,),
        common_name=naming.hostname(world, machine),
        names=tuple(dict.fromkeys(names)),
        now=now,
    )
    context = _context(pair)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata="\n".join([config.authority.certificate, *config.accepted]))
    return context


def fingerprint(world: World, machine: Machine) -> str:
    """What the console shows in maintenance mode, for clients to pin."""
    public = _maintenance_key(world, machine).public_key()
    spki = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(hashlib.sha256(spki).digest()).decode()


def roles_in(certificate: bytes, now: float) -> frozenset[str] | None:
    """The roles that a client's certificate gives; None if the node does not take it at all."""
    parsed = x509.load_der_x509_certificate(certificate)
    try:
        usages = list(parsed.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)
    except x509.ExtensionNotFound:
        return None
    at = datetime.fromtimestamp(now, UTC)
    if usages != [CLIENT] or not parsed.not_valid_before_utc <= at <= parsed.not_valid_after_utc:
        return None
    organizations = parsed.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    return frozenset(str(one.value) for one in organizations)


def _context(pair: CertificateAndKey) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0
    context.set_alpn_protocols(["h2"])
    show_certificate(context, pair.certificate, pair.key)
    return context


def _maintenance_key(world: World, machine: Machine) -> Ed25519PrivateKey:
    material = f"{world.seed} {machine.uuid} {machine.boots} {machine.created}"
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(material.encode()).digest())


def _maintenance_pair(world: World, machine: Machine) -> CertificateAndKey:
    key = _maintenance_key(world, machine)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _MAINTENANCE_NAME)])
    since = datetime.fromtimestamp(machine.run.since if machine.run else world.now(), UTC)
    addresses = [ipaddress.ip_address(one) for one in (*naming.addresses(world, machine), "127.0.0.1", "::1")]
    names = [
        x509.DNSName(naming.hostname(world, machine)),
        *(x509.IPAddress(one) for one in dict.fromkeys(addresses)),
    ]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(machine.boots + 1)
        .not_valid_before(since.replace(microsecond=0) - timedelta(minutes=1))
        .not_valid_after(since.replace(microsecond=0) + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, None)
    )
    pem = certificate.public_bytes(Encoding.PEM).decode()
    return CertificateAndKey(pem, write_key(key))
