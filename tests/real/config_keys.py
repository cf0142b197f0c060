"""Private keys in every form that PEM has for them."""

from __future__ import annotations

from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as generate_rsa_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat


def private_keys() -> dict[str, str]:
    """PKCS#8, PKCS#1 and SEC 1, and one whose label does not fit what it holds."""
    pkcs8, traditional = PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL
    curve = generate_private_key(SECP256R1())
    keys = {
        "PKCS8": Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, pkcs8, NoEncryption()),
        "PKCS1": generate_rsa_key(65537, 2048).private_bytes(Encoding.PEM, traditional, NoEncryption()),
        "SEC1": curve.private_bytes(Encoding.PEM, traditional, NoEncryption()),
        "MISLABELLED": curve.private_bytes(Encoding.PEM, traditional, NoEncryption()).replace(b" EC ", b" RSA "),
        "ED25519": Ed25519PrivateKey.generate()
        .private_bytes(Encoding.PEM, pkcs8, NoEncryption())
        .replace(b" PRIVATE KEY", b" ED25519 PRIVATE KEY"),
    }
    return {name: key.decode() for name, key in keys.items()}
