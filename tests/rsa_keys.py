"""RSA keys that earlier tests generated: one takes most of a second, and every secrets bundle has one.

Bundles of tests differ in all their other keys. The first few keys come from `cryptography` as in production, and are
kept in the cache of pytest for the next run.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

KEPT = 4  # so that bundles made one after the other differ in this key, too
BITS = 4096  # of the keys that Talos' bundles have; others are generated

generate = rsa.generate_private_key


def reuse(folder: Path) -> None:
    """From now on, in this process and in those that it forks."""
    turns = itertools.count()
    read: dict[Path, rsa.RSAPrivateKey] = {}

    def key(public_exponent: int, key_size: int, *more: Any, **options: Any) -> rsa.RSAPrivateKey:
        if key_size != BITS:
            return generate(public_exponent, key_size, *more, **options)
        file = folder / f"{next(turns) % KEPT}.pem"
        if file not in read:
            read[file] = _read(file) if file.exists() else _generated(file, public_exponent, key_size)
        return read[file]

    rsa.generate_private_key = key


def _read(file: Path) -> rsa.RSAPrivateKey:
    """Unchecked: to prove that it is a key takes as long as to make one of half the size."""
    found = load_pem_private_key(file.read_bytes(), None, unsafe_skip_rsa_key_validation=True)
    assert isinstance(found, rsa.RSAPrivateKey)
    return found


def _generated(file: Path, public_exponent: int, key_size: int) -> rsa.RSAPrivateKey:
    made = generate(public_exponent, key_size)
    new = file.with_suffix(f".{os.getpid()}")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
        out.write(made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    new.replace(file)  # another worker may have been faster: either key will do
    return made
