"""A TLS context gets its certificate and key, which OpenSSL reads from files only, without a file that stays."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from talosmith.desired import pki
from talosmith.model.secret import Secret


def show_certificate(context: ssl.SSLContext, certificate: str, key: Secret) -> None:
    """From now on the context shows the certificate; its key may have any form that Talos and Kubernetes write."""
    plain = pki.read_key(key).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with _readable_once(certificate.encode() + b"\n" + plain) as path:
        context.load_cert_chain(path)


@contextmanager
def _readable_once(content: bytes) -> Iterator[str]:
    """A path to the content: in memory where there is such, else a file of the owner's for a moment."""
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        handle = os.memfd_create("talosmith", os.MFD_CLOEXEC)
        path, is_file = f"/proc/self/fd/{handle}", False
    else:
        handle, path = tempfile.mkstemp(prefix="talosmith-")  # made with mode 0600
        is_file = True
    try:
        os.write(handle, content)
        yield path
    finally:
        os.close(handle)
        if is_file:
            Path(path).unlink()
