"""One cluster's authority and client, made once; the tests run on asyncio, which is what the client is for."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator

import pytest

from talosmith.desired.pki import CertificateAndKey
from talosmith.talos import Credentials, Limits, TalosClient
from tests.loopback import unused_port
from tests.unit.talos.server import new_authority, new_credentials, server_context

PATIENT = Limits(connect_timeout=120.0, call_timeout=240.0)  # for a busy machine; nothing here waits for them


@pytest.fixture(scope="session")
def authority() -> CertificateAndKey:
    return new_authority()


@pytest.fixture(scope="session")
def credentials(authority: CertificateAndKey) -> Credentials:
    return new_credentials(authority)


@pytest.fixture(scope="session")
def context(authority: CertificateAndKey) -> ssl.SSLContext:
    """That of a good node."""
    return server_context(authority)


@pytest.fixture
def port() -> Iterator[int]:
    """One for a node that comes and goes: nobody else takes it meanwhile."""
    with unused_port() as port:
        yield port


@pytest.fixture
async def client(credentials: Credentials) -> AsyncIterator[TalosClient]:
    async with TalosClient(credentials, limits=PATIENT) as client:
        yield client
