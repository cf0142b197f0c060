"""Who answers is who was meant, and who asks is who may: everything else ends in an error that says so."""

from __future__ import annotations

import ssl
import time
from datetime import UTC, datetime, timedelta

import pytest

from talosmith.desired import pki
from talosmith.desired.pki import CertificateAndKey, KeyKind
from talosmith.desired.validity import clock
from talosmith.errors import Permanent, Temporary
from talosmith.talos import (
    ClockMismatch,
    Credentials,
    InMaintenance,
    MaintenanceClient,
    NotInMaintenance,
    NotTrusted,
    Refused,
    TalosClient,
    TalosError,
    Unreachable,
)
from talosmith.talos.grpc import connecting, http2, trust
from talosmith.talos.proto import machine_pb2 as wire
from tests.unit.talos.conftest import PATIENT
from tests.unit.talos.server import (
    answer,
    expired_twin,
    maintenance_context,
    new_authority,
    new_credentials,
    refusing,
    server_context,
    serving,
)

VERSION = answer(wire.VersionResponse(messages=[wire.Version(version=wire.VersionInfo(tag="v1.13.9"))]))


@pytest.fixture(autouse=True)
def on_a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that takes long to refuse us is still heard, and one that takes long to show its certificate seen."""
    monkeypatch.setattr(http2, "_SPEAK_FIRST", 120.0)
    monkeypatch.setattr(connecting, "_LOOK", 120.0)


async def asked(client: TalosClient, context: ssl.SSLContext) -> TalosError:
    """The error of a call to a node with such a certificate; it must not have got as far as answering."""
    answered = False

    def never(_: object) -> wire.VersionResponse:
        nonlocal answered
        answered = True
        return wire.VersionResponse(messages=[wire.Version()])

    start = time.monotonic()
    async with serving(context, machine_Version=answer(never)) as address:
        with pytest.raises(TalosError) as caught:
            await client.node(address, "cp-1").version()
    assert time.monotonic() - start < 100  # no deadline has ended it
    assert not answered
    assert "cp-1 (127.0.0.1:" in str(caught.value)
    return caught.value


async def test_a_node_of_another_cluster(client: TalosClient) -> None:
    """Its authority even has the same name."""
    error = await asked(client, server_context(new_authority()))
    assert isinstance(error, NotTrusted)
    assert isinstance(error, Permanent)
    assert "not signed by this cluster's CA" in str(error)
    assert "another cluster" in error.hint


async def test_another_node_of_this_cluster(client: TalosClient, authority: CertificateAndKey) -> None:
    error = await asked(client, server_context(authority, names=("10.5.0.9", "cp-9")))
    assert isinstance(error, NotTrusted)
    assert "not for 127.0.0.1; it is for 10.5.0.9" in str(error)


@pytest.mark.parametrize(("hours", "state"), [(-2, "has expired"), (2, "is not yet valid")])
async def test_an_expired_certificate(
    hours: int, state: str, client: TalosClient, authority: CertificateAndKey
) -> None:
    """Of a node whose clock is behind, or ahead: both clocks are in the message."""
    start = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=hours)
    error = await asked(client, server_context(authority, start=start))
    assert isinstance(error, ClockMismatch)
    assert isinstance(error, Temporary)
    window = f"valid from {clock(start)} to {clock(start + timedelta(hours=1))}, this computer's clock says 2"
    assert f"certificate {state}: {window}" in str(error)
    assert "(x509: certificate has expired or is not yet valid)" in str(error)
    assert "timedatectl" in error.hint and "network.ntp_servers" in error.hint


async def test_a_certificate_that_is_out_of_time_and_cannot_be_looked_at_again(
    client: TalosClient, authority: CertificateAndKey
) -> None:
    expired = server_context(authority, start=datetime.now(UTC) - timedelta(hours=2))
    with (
        refusing(expired, then_gone=True) as address,
        pytest.raises(ClockMismatch, match="certificate has expired: this computer's clock says 2"),
    ):
        await client.node(address).version()


@pytest.mark.parametrize("hours", [-3, 3])
async def test_a_client_certificate_that_is_out_of_time_by_the_nodes_clock(
    hours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This computer's clock is wrong, so the certificate that it has made is, too. Go refuses both ways with 45."""
    wrong = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=hours)
    authority = pki.new_authority("talos", KeyKind.ED25519, now=wrong - timedelta(days=9))
    monkeypatch.setattr(trust, "this_computers_clock", lambda: wrong)
    leaf = pki.new_leaf(authority, ["os:admin"], lifetime=timedelta(hours=1), now=wrong - timedelta(minutes=30))
    context = server_context(authority)
    if hours > 0:  # OpenSSL, which the test's node has, has another alert for this one; Go has not
        context = server_context(authority, clients=expired_twin(authority))
    with refusing(context) as address:
        async with TalosClient(
            Credentials(authority.certificate, leaf.certificate, leaf.key), limits=PATIENT
        ) as client:
            with pytest.raises(ClockMismatch, match="expired or is not yet valid by the node's clock") as caught:
                await client.node(address).version()
    said = str(caught.value)
    assert f"valid from {clock(wrong - timedelta(minutes=30))}" in said
    assert f"this computer's clock says {clock(wrong)}" in said
    assert "certificate of the node: valid from 2" in said
    assert "remote error: tls: expired certificate" in said
    assert "timedatectl" in caught.value.hint


@pytest.mark.parametrize(("days", "state"), [(-9000, "has expired"), (9, "is not yet valid")])
async def test_an_authority_that_is_out_of_time_is_not_even_tried(days: int, state: str) -> None:
    authority = pki.new_authority("talos", KeyKind.ED25519, now=datetime.now(UTC) + timedelta(days=days))
    async with TalosClient(new_credentials(authority), limits=PATIENT) as client:
        with pytest.raises(Refused, match=f"CA certificate of the Talos API {state}: valid from") as caught:
            await client.node("192.0.2.1").version()  # an address where nobody can answer
    assert "this computer's clock says 2" in str(caught.value)


async def test_a_client_that_poses_as_a_node(client: TalosClient, authority: CertificateAndKey) -> None:
    """Whoever has a talosconfig has a certificate of the right authority, but not one for serving."""
    error = await asked(client, server_context(authority, usages=(pki.CLIENT,)))
    assert isinstance(error, NotTrusted)
    assert "not a node's" in str(error)


async def test_a_node_in_maintenance_mode_is_recognised(client: TalosClient) -> None:
    error = await asked(client, maintenance_context())
    assert isinstance(error, InMaintenance)
    assert isinstance(error, Temporary)  # a config that was just applied takes its time
    assert "fingerprint" in str(error)


@pytest.mark.parametrize("gone", [True, False])
async def test_a_node_that_changes_its_certificate_while_it_is_looked_at(
    client: TalosClient, context: ssl.SSLContext, gone: bool
) -> None:
    """As when it leaves maintenance mode: that is no other cluster's node, and worth another try."""
    others = () if gone else (context,)
    with (
        refusing(maintenance_context(), *others, then_gone=gone) as address,
        pytest.raises(Unreachable, match="certificate changed after"),
    ):
        await client.node(address).version()


async def test_a_client_certificate_of_another_authority(
    authority: CertificateAndKey, credentials: Credentials
) -> None:
    other = new_credentials(new_authority())
    mixed = Credentials(authority.certificate, other.certificate, other.key)
    with refusing(server_context(authority)) as address:
        async with TalosClient(mixed, limits=PATIENT) as client:
            with pytest.raises(Refused, match="signed by another CA"):
                await client.node(address).version()


async def test_a_client_certificate_that_is_not_one_for_clients(authority: CertificateAndKey) -> None:
    leaf = pki.new_leaf(authority, ["os:admin"], lifetime=timedelta(hours=1), usages=(pki.SERVER,))
    with refusing(server_context(authority)) as address:
        async with TalosClient(
            Credentials(authority.certificate, leaf.certificate, leaf.key), limits=PATIENT
        ) as client:
            with pytest.raises(Refused, match="refuses our client certificate"):
                await client.node(address).version()


@pytest.mark.parametrize(("hours", "what"), [(-3, "has expired"), (3, "is not yet valid")])
async def test_our_own_expired_certificate_is_not_even_tried(
    hours: int, what: str, authority: CertificateAndKey
) -> None:
    start = datetime.now(UTC) + timedelta(hours=hours)
    leaf = pki.new_leaf(authority, ["os:admin"], lifetime=timedelta(hours=1), now=start)
    async with TalosClient(Credentials(authority.certificate, leaf.certificate, leaf.key), limits=PATIENT) as client:
        with pytest.raises(Refused, match=f"client certificate {what}: valid from"):
            await client.node("192.0.2.1").version()  # an address where nobody can answer


async def test_maintenance_mode_without_a_known_fingerprint_tells_the_one_it_saw() -> None:
    context = maintenance_context()
    async with serving(context, machine_Version=VERSION) as address, MaintenanceClient(limits=PATIENT) as client:
        node = client.node(address)
        seen = await node.fingerprint()
        assert (await node.version()).tag == "v1.13.9"
        async with MaintenanceClient(limits=PATIENT) as strict:
            assert (await strict.node(address, fingerprint=seen).version()).tag == "v1.13.9"


async def test_maintenance_mode_with_another_fingerprint_than_the_known_one() -> None:
    wrong = "00" * 32
    async with (
        serving(maintenance_context(), machine_Version=VERSION) as address,
        MaintenanceClient(limits=PATIENT) as client,
    ):
        with pytest.raises(NotTrusted, match=r"AAAA.* was expected") as caught:
            await client.node(address, "w-1", fingerprint=wrong).version()
        assert isinstance(caught.value, Permanent)
        assert "console" in caught.value.hint


async def test_a_fingerprint_that_changes_between_connections(port: int) -> None:
    """As when somebody steps in between: what was seen first is insisted on."""
    async with MaintenanceClient(limits=PATIENT) as client:
        async with serving(maintenance_context(), port=port, machine_Version=VERSION) as address:
            node = client.node(address)
            first = await node.fingerprint()
            await node.close()
        async with serving(maintenance_context(), port=port, machine_Version=VERSION):
            with pytest.raises(NotTrusted, match="seen there before") as caught:
                await node.version()
            assert first in str(caught.value)
        with pytest.raises(NotTrusted, match="was expected"):
            client.node(address, fingerprint="00" * 32)


async def test_a_configured_node_is_not_in_maintenance_mode(authority: CertificateAndKey) -> None:
    with refusing(server_context(authority)) as address:
        async with MaintenanceClient(limits=PATIENT) as client:
            with pytest.raises(NotInMaintenance, match="requires a client certificate"):
                await client.node(address).version()


async def test_a_node_that_was_configured_since_its_fingerprint_was_seen(context: ssl.SSLContext) -> None:
    """As by another run: that is no machine which poses as the node, and no secret is sent there either."""
    async with serving(context, machine_Version=VERSION) as address, MaintenanceClient(limits=PATIENT) as client:
        with pytest.raises(NotInMaintenance, match="certificate of a configured node") as caught:
            await client.node(address, "w-1", fingerprint="00" * 32).version()
        assert "another run" in caught.value.hint
