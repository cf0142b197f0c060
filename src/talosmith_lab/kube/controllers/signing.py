"""Certificates on request: signed by the cluster's CA once approved."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from talosmith.desired import pki
from talosmith.desired.pki import CertificateAndKey
from talosmith_lab.kube.controllers.objects import has
from talosmith_lab.kube.controllers.work import Controller
from talosmith_lab.kube.kinds import Kind, Obj, find

REQUEST = find("certificates.k8s.io/v1", "CertificateSigningRequest")
_CLIENT, _SERVER = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH
_SIGNERS = {
    "kubernetes.io/kube-apiserver-client": _CLIENT,
    "kubernetes.io/kube-apiserver-client-kubelet": _CLIENT,
    "kubernetes.io/kubelet-serving": _SERVER,
}
_YEAR = 365 * 86400
_KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
_NODES = "system:nodes"


class Signing(Controller):
    name = "signing"
    watches = (REQUEST,)

    def noticed(self, kind: Kind, before: Obj | None, now: Obj | None) -> Iterable[str]:
        if now is not None:
            yield now["metadata"]["name"]

    def reconcile(self, key: str) -> None:
        request = self.api.find(REQUEST, key)
        if request is None:
            return
        status, signer = request.get("status") or {}, request["spec"].get("signerName", "")
        if signer == _KUBELET_CLIENT and not status.get("conditions"):
            request = self._approve(request)
            status = request.get("status") or {}
        usage = _SIGNERS.get(signer)
        if usage is None or status.get("certificate") or not has(request, "Approved"):
            return
        if has(request, "Denied") or has(request, "Failed"):
            return
        authority = self._authority()
        if authority is None:
            return
        try:
            certificate = _signed(request, authority, usage, self.work.world.now())
        except ValueError as wrong:
            told = {"type": "Failed", "status": "True", "reason": "SignerValidationFailure", "message": str(wrong)}
            self._tell(request, told)
            return
        self.work.set_status(REQUEST, request, {**status, "certificate": certificate})

    def _approve(self, request: Obj) -> Obj:
        """Kubelets' own client certificates need no approval."""
        message = "Auto approving kubelet client certificate after SubjectAccessReview."
        return self._tell(
            request, {"type": "Approved", "status": "True", "reason": "AutoApproved", "message": message}
        )

    def _tell(self, request: Obj, condition: Obj) -> Obj:
        now = self.work.now
        status = request.get("status") or {}
        told = {**condition, "lastUpdateTime": now, "lastTransitionTime": now}
        conditions = [*(status.get("conditions") or ()), told]
        return self.work.put(REQUEST, {**request, "status": {**status, "conditions": conditions}})

    def _authority(self) -> CertificateAndKey | None:
        for machine in self.work.control_planes:
            config = self.work.world.config(machine)
            if config is not None and config.kubernetes_authority is not None and config.kubernetes_authority.key:
                return config.kubernetes_authority
        return None


def _signed(request: Obj, authority: CertificateAndKey, usage: x509.ObjectIdentifier, now: float) -> str:
    asked = x509.load_pem_x509_csr(base64.b64decode(request["spec"]["request"]))
    names = asked.extensions
    if usage is _SERVER:
        _check_node(asked)
    seconds = min(int(request["spec"].get("expirationSeconds") or _YEAR), _YEAR)
    start = datetime.fromtimestamp(now, UTC) - timedelta(minutes=5)
    issuer = x509.load_pem_x509_certificate(authority.certificate.encode())
    builder = (
        x509.CertificateBuilder()
        .subject_name(asked.subject)
        .issuer_name(issuer.subject)
        .public_key(asked.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(seconds=seconds, minutes=5))
        .add_extension(_usages(), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    )
    for extension in names:
        if isinstance(extension.value, x509.SubjectAlternativeName):
            builder = builder.add_extension(extension.value, critical=extension.critical)
    certificate = builder.sign(pki.read_key(authority.key), hashes.SHA256())
    return base64.b64encode(certificate.public_bytes(Encoding.PEM)).decode()


def _check_node(asked: x509.CertificateSigningRequest) -> None:
    groups = [str(one.value) for one in asked.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    users = [str(one.value) for one in asked.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    if groups != [_NODES]:
        raise ValueError("organization is not system:nodes")
    if not users or not users[0].startswith("system:node:"):
        raise ValueError("subject common name does not begin with system:node:")


def _usages() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=True,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
