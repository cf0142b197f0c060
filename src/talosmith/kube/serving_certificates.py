"""Approves the certificates by which kubelets serve, for nodes of ours and for names and addresses of theirs only.

Kubernetes approves none of them by itself, for it cannot know which addresses a node has. The inventory can. A
client with a certificate for another node's name could pose as that node, or as the API server, so anything not
expected is left unapproved.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.x509.oid import NameOID

from talosmith.kube import errors
from talosmith.kube.client import KubeClient
from talosmith.kube.objects import Object, Ref, metadata, spec, status

API = "certificates.k8s.io/v1"
KIND = "CertificateSigningRequest"
SIGNER = "kubernetes.io/kubelet-serving"
_USER = "system:node:"
_GROUP = "system:nodes"
_USAGES = {"digital signature", "key encipherment", "server auth"}


@dataclass(frozen=True, slots=True)
class ExpectedNode:
    """What a node may be called and reached by."""

    name: str
    addresses: frozenset[str]
    dns_names: frozenset[str] = frozenset()  # besides its own name


@dataclass(frozen=True, slots=True)
class Judged:
    """One request: of which node it claims to be, and why it is refused; no reason: it is approved."""

    request: str
    node: str
    refused: str = ""


def judge(item: Object, expected: Mapping[str, ExpectedNode]) -> Judged:
    """By the request alone, which the server has filled with who asks."""
    request, asks = Ref.of(item).name, spec(item)
    user = str(asks.get("username") or "")
    node = user.removeprefix(_USER) if user.startswith(_USER) else ""
    return Judged(request, node, _refusal(asks, user, expected.get(node)))


async def pending(client: KubeClient) -> list[Object]:
    """Requests for serving certificates that are neither approved nor denied."""
    listed = await client.list(API, KIND, fields=f"spec.signerName={SIGNER}")
    return [item for item in listed.items if not _decided(item)]


async def approve_serving_certificates(client: KubeClient, expected: Iterable[ExpectedNode]) -> list[Judged]:
    """Approves what may be, and says what was left and why. Nothing is denied: a person may still decide."""
    known = {node.name: node for node in expected}
    judged = []
    for item in await pending(client):
        verdict = judge(item, known)
        if not verdict.refused and not await _approve(client, item):
            continue
        judged.append(verdict)
    return judged


def _refusal(asks: Mapping[str, Any], user: str, node: ExpectedNode | None) -> str:
    if asks.get("signerName") != SIGNER:
        return f"it is for the signer {asks.get('signerName')}"
    if not user.startswith(_USER) or _GROUP not in (asks.get("groups") or ()):
        return f"requested by {user or 'an unknown user'}, which is not a node"
    if node is None:
        return f"{user.removeprefix(_USER)} is no node of ours"
    usages = set(asks.get("usages") or ())
    if "server auth" not in usages or usages - _USAGES:
        return f"it is for other uses: {', '.join(sorted(usages)) or 'none'}"
    try:
        request = x509.load_pem_x509_csr(base64.b64decode(str(asks.get("request") or ""), validate=True))
        sound = request.is_signature_valid
        alternatives = _alternatives(request)
    except (ValueError, TypeError, binascii.Error, InvalidSignature, UnsupportedAlgorithm):
        return "what it holds is not a readable request for a certificate"
    if not sound:
        return "it is not signed by the key it is for"
    return _refused_subject(request, user) or _refused_names(alternatives, node)


def _refused_subject(request: x509.CertificateSigningRequest, user: str) -> str:
    names = [str(one.value) for one in request.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    groups = [str(one.value) for one in request.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    others = len(list(request.subject)) - len(names) - len(groups)
    if names != [user]:
        return f"{user} requests a certificate for {', '.join(names) or 'no name'}"
    if groups != [_GROUP] or others:
        return f"its subject is {request.subject.rfc4514_string()}"
    return ""


def _alternatives(request: x509.CertificateSigningRequest) -> list[x509.GeneralName]:
    try:
        return list(request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return []


def _refused_names(alternatives: list[x509.GeneralName], node: ExpectedNode) -> str:
    if not alternatives:
        return "it names no address"
    dns_names = {name.lower() for name in (node.name, *node.dns_names)}
    addresses = {ipaddress.ip_address(address) for address in node.addresses}
    for one in alternatives:
        if isinstance(one, x509.DNSName):
            known = one.value.lower() in dns_names
        elif isinstance(one, x509.IPAddress):
            known = one.value in addresses
        else:
            known = False
        if not known:
            return f"{one.value} is not a name or address of {node.name}"
    return ""


def _decided(item: Object) -> bool:
    return any(one.get("type") in ("Approved", "Denied", "Failed") for one in status(item).get("conditions") or ())


async def _approve(client: KubeClient, item: Object) -> bool:
    """False if it does not exist any more, or another approver was faster."""
    approved = {
        "type": "Approved",
        "status": "True",
        "reason": "TalosmithApproved",
        "message": "A node of the inventory, with its own names and addresses.",
    }
    # With the version that was judged: a request that has changed since is judged again.
    named = {key: metadata(item)[key] for key in ("name", "resourceVersion", "uid")}
    body = {
        "apiVersion": API,
        "kind": KIND,
        "metadata": named,
        "spec": spec(item),
        "status": {"conditions": [approved]},
    }
    try:
        await client.replace(body, subresource="approval")
    except (errors.Changed, errors.NotFound):
        return False
    return True
