"""One cluster's authority, made once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from talosmith.desired import pki
from talosmith.desired.pki import CertificateAndKey, KeyKind
from talosmith.kube import Credentials, KubeClient, Limits
from talosmith.model.secret import Secret
from tests.unit.kube.kube_server import QUICK, TOKEN, Server


@pytest.fixture(scope="session")
def authority() -> CertificateAndKey:
    return pki.new_authority("kubernetes", KeyKind.ECDSA_P256)


@pytest.fixture
def connect(authority: CertificateAndKey) -> Callable[..., KubeClient]:
    def to(*servers: Server, limits: Limits = QUICK) -> KubeClient:
        credentials = Credentials(authority.certificate, token=Secret(TOKEN), server_name="kubernetes")
        return KubeClient([server.address for server in servers], credentials, limits=limits)

    return to
