"""A kubelet that is to rotate the certificate it serves with asks the cluster for one, and waits for approval."""

from __future__ import annotations

import base64
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from talosmith_lab.kube.controllers.signing import REQUEST
from talosmith_lab.kube.controllers.work import Work
from talosmith_lab.kube.how import How
from talosmith_lab.kube.kinds import Obj

_SIGNER = "kubernetes.io/kubelet-serving"


def ask(work: Work, name: str, address: str, how: How) -> None:
    """Once: a request that is there stands for the certificate that came of it."""
    if any(_is_from(one, how.user) for one in work.api.items(REQUEST)):
        return
    spec = {
        "request": base64.b64encode(_request(name, address)).decode(),
        "signerName": _SIGNER,
        "usages": ["digital signature", "server auth"],
    }
    request = {
        "apiVersion": REQUEST.api_version,
        "kind": REQUEST.kind,
        "metadata": {"generateName": "csr-"},
        "spec": spec,
    }
    work.api.create(REQUEST, request, how=how)


def _is_from(request: Obj, user: str) -> bool:
    spec = request["spec"]
    return bool(spec.get("username") == user and spec.get("signerName") == _SIGNER)


def _request(name: str, address: str) -> bytes:
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes"),
            x509.NameAttribute(NameOID.COMMON_NAME, f"system:node:{name}"),
        ]
    )
    names = x509.SubjectAlternativeName([x509.DNSName(name), x509.IPAddress(ipaddress.ip_address(address))])
    asked = x509.CertificateSigningRequestBuilder().subject_name(subject).add_extension(names, critical=False)
    return asked.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()).public_bytes(Encoding.PEM)
