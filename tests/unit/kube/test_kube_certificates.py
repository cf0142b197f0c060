"""Which requests for serving certificates are refused; each differs from a good one in one thing."""

from __future__ import annotations

import base64
import ipaddress
import re
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from talosmith.kube import ExpectedNode, judge

NODE = ExpectedNode("w-1", frozenset({"10.5.0.4", "fd00::4"}), frozenset({"w-1.example.org"}))
GOOD: tuple[x509.GeneralName, ...] = (
    x509.DNSName("w-1"),
    x509.DNSName("W-1.example.org"),
    x509.IPAddress(ipaddress.ip_address("10.5.0.4")),
    x509.IPAddress(ipaddress.ip_address("fd00:0::4")),
)
SUBJECT = ((NameOID.ORGANIZATION_NAME, "system:nodes"), (NameOID.COMMON_NAME, "system:node:w-1"))


def content(
    alternatives: tuple[x509.GeneralName, ...] = GOOD,
    subject: tuple[tuple[x509.ObjectIdentifier, str], ...] = SUBJECT,
) -> bytes:
    builder = x509.CertificateSigningRequestBuilder().subject_name(
        x509.Name([x509.NameAttribute(oid, value) for oid, value in subject])
    )
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    return builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()).public_bytes(Encoding.PEM)


def forged() -> bytes:
    """Signed by another key than the one it is for: the last byte of the signature changed."""
    der = bytearray(x509.load_pem_x509_csr(content()).public_bytes(Encoding.DER))
    der[-1] ^= 1
    lines = base64.encodebytes(bytes(der)).decode()
    return f"-----BEGIN CERTIFICATE REQUEST-----\n{lines}-----END CERTIFICATE REQUEST-----\n".encode()


def request(pem: bytes | None = None, **changes: Any) -> dict[str, Any]:
    spec = {
        "signerName": "kubernetes.io/kubelet-serving",
        "username": "system:node:w-1",
        "groups": ["system:nodes", "system:authenticated"],
        "usages": ["digital signature", "key encipherment", "server auth"],
        "request": base64.b64encode(content() if pem is None else pem).decode(),
        **changes,
    }
    return {"metadata": {"name": "csr-1"}, "spec": spec}


def test_a_good_one() -> None:
    judged = judge(request(), {"w-1": NODE})
    assert (judged.request, judged.node, judged.refused) == ("csr-1", "w-1", "")


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (request(signerName="kubernetes.io/kube-apiserver-client"), "signer"),
        (request(username="admin"), "not a node"),
        (request(groups=["system:authenticated"]), "not a node"),
        (request(username="system:node:w-2"), "no node of ours"),
        (request(usages=["digital signature", "client auth", "server auth"]), "other uses"),
        (request(usages=["digital signature"]), "other uses"),
        (request(b"nonsense"), "not a readable request"),
        (request(request="%%%"), "not a readable request"),
        (request(forged()), "not signed by the key"),
        (request(content(())), "names no address"),
        (request(content((*GOOD, x509.DNSName("kubernetes")))), "kubernetes is not a name"),
        (request(content((x509.IPAddress(ipaddress.ip_address("10.5.0.2")),))), r"10\.5\.0\.2 is not"),
        (request(content((*GOOD, x509.UniformResourceIdentifier("spiffe://x")))), "spiffe"),
        (request(content((*GOOD, x509.RFC822Name("a@example.org")))), "a@example.org"),
        (request(content(subject=(SUBJECT[0], (NameOID.COMMON_NAME, "system:node:w-2")))), "for system:node:w-2"),
        (request(content(subject=((NameOID.ORGANIZATION_NAME, "system:masters"), SUBJECT[1]))), "system:masters"),
        (request(content(subject=(*SUBJECT, (NameOID.ORGANIZATION_NAME, "system:masters")))), "system:masters"),
        (request(content(subject=(*SUBJECT, (NameOID.ORGANIZATIONAL_UNIT_NAME, "x")))), "its subject"),
    ],
)
def test_refused(item: dict[str, Any], said: str) -> None:
    assert re.search(said, judge(item, {"w-1": NODE}).refused)
