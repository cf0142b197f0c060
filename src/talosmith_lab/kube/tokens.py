"""Tokens of service accounts: signed with the cluster's own key, and believed only if they are."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from talosmith.desired import pki
from talosmith.model.secret import Secret
from talosmith_lab.kube.access import User, account_user
from talosmith_lab.kube.cluster import Kubernetes, stamp
from talosmith_lab.kube.errors import ApiError, invalid_value, not_found
from talosmith_lab.kube.kinds import Obj, find

ISSUER = "https://kubernetes.default.svc"
ACCOUNT = find("v1", "ServiceAccount")
_SHORTEST, _USUAL, _LONGEST = 600, 3600, 1 << 32


def request(kubernetes: Kubernetes, key: Secret, namespace: str, name: str, body: Obj) -> Obj:
    """What a TokenRequest gives."""
    stored = kubernetes.storage.get(ACCOUNT.key(namespace, name))
    if stored is None:
        raise not_found(ACCOUNT, name)
    spec = body.get("spec") or {}
    seconds = int(spec.get("expirationSeconds") or _USUAL)
    if seconds < _SHORTEST:
        problem = invalid_value("spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
        details = {"group": "authentication.k8s.io", "kind": "TokenRequest", "causes": [problem]}
        message = f'TokenRequest.authentication.k8s.io "" is invalid: {problem["field"]}: {problem["message"]}'
        raise ApiError(422, "Invalid", message, details)
    now, uid = kubernetes.world.now(), stored.obj["metadata"]["uid"]
    audiences = spec.get("audiences") or [ISSUER]
    claims = {
        "aud": audiences,
        "exp": int(now) + seconds,
        "iat": int(now),
        "iss": ISSUER,
        "jti": kubernetes.world.unique("token"),
        "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}},
        "nbf": int(now),
        "sub": f"system:serviceaccount:{namespace}:{name}",
    }
    return {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": name, "namespace": namespace, "uid": uid, "creationTimestamp": kubernetes.now()},
        "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": spec.get("boundObjectRef")},
        "status": {"token": signed(key, claims), "expirationTimestamp": stamp(now + seconds)},
    }


def signed(secret: Secret, claims: Obj) -> str:
    key = pki.read_key(secret)
    is_rsa = isinstance(key, rsa.RSAPrivateKey)
    header = {"alg": "RS256" if is_rsa else "ES256", "kid": _key_id(secret)}
    content = f"{_encoded(header)}.{_encoded(claims)}".encode()
    if isinstance(key, rsa.RSAPrivateKey):
        signature = key.sign(content, padding.PKCS1v15(), hashes.SHA256())
    elif isinstance(key, ec.EllipticCurvePrivateKey):
        numbers = decode_dss_signature(key.sign(content, ec.ECDSA(hashes.SHA256())))
        signature = b"".join(number.to_bytes(32, "big") for number in numbers)
    else:
        raise ApiError(500, "InternalError", "the cluster's key cannot sign tokens")
    return f"{content.decode()}.{_base64(signature)}"


def user_of(kubernetes: Kubernetes, key: Secret, token: str) -> User | None:
    """None if the token is not one of this cluster's, is over, or its account is gone."""
    claims = _verified(key, token)
    if claims is None or claims.get("exp", float("inf")) < kubernetes.world.now():
        return None
    if claims.get("iss") == ISSUER and ISSUER not in claims.get("aud", ()):
        return None
    _, _, rest = str(claims.get("sub", "")).partition("system:serviceaccount:")
    namespace, _, name = rest.partition(":")
    stored = kubernetes.storage.get(ACCOUNT.key(namespace, name)) if name else None
    if stored is None:
        return None
    uid = stored.obj["metadata"]["uid"]
    bound = (claims.get("kubernetes.io") or {}).get("serviceaccount") or {}
    if bound.get("uid", claims.get("kubernetes.io/serviceaccount/service-account.uid", uid)) != uid:
        return None
    extra = {"authentication.kubernetes.io/credential-id": [f"JTI={claims['jti']}"]} if "jti" in claims else {}
    return account_user(namespace, name, uid, extra)


def _verified(secret: Secret, token: str) -> Obj | None:
    parts = token.split(".")
    if len(parts) != 3:
        return None
    content = f"{parts[0]}.{parts[1]}".encode()
    try:
        key, signature = pki.read_key(secret).public_key(), _decoded(parts[2])
        if isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, content, padding.PKCS1v15(), hashes.SHA256())
        elif isinstance(key, ec.EllipticCurvePublicKey):
            numbers = (int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))
            key.verify(encode_dss_signature(*numbers), content, ec.ECDSA(hashes.SHA256()))
        else:
            return None
        claims = json.loads(_decoded(parts[1]))
    except (InvalidSignature, ValueError, binascii.Error):
        return None
    return claims if isinstance(claims, dict) else None


@lru_cache(maxsize=64)
def _key_id(secret: Secret) -> str:
    der = pki.read_key(secret).public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return _base64(hashlib.sha256(der).digest())


def _encoded(value: Obj) -> str:
    return _base64(json.dumps(value, separators=(",", ":")).encode())


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
