"""The API on the network: TLS, who is let in, HTTP and its limits."""

from __future__ import annotations

import asyncio
import json
import ssl
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from talosmith.desired import pki
from talosmith.kube import KubeClient, Ref, errors
from talosmith.kube.credentials import Credentials
from talosmith.kube.watching import Event, Snapshot, follow
from talosmith.model.secret import Secret
from talosmith_lab.server.kube import http
from tests.lab.kube.kube_lab import FEW_TRIES, PATIENCE, KubeLab

pytestmark = pytest.mark.slow
OURS = "metadata.name!=kube-root-ca.crt"  # which a controller puts into every namespace


def config_map(name: str, **data: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": data}


async def test_our_client_works_with_it(client: KubeClient) -> None:
    assert await client.server_version() == "v1.37.1"
    made = await client.create(config_map("a", x="1"))
    ref = Ref("v1", "ConfigMap", "a", "default")
    assert await client.get(ref) == made
    written = await client.apply(config_map("a", y="2"))
    assert written.item["data"] == {"x": "1", "y": "2"} and not written.created
    listed = await client.list("v1", "ConfigMap", "default", fields="metadata.name=a")
    assert [one["metadata"]["name"] for one in listed.items] == ["a"]
    assert await client.delete(ref) and not await client.delete(ref)


async def test_the_kubeconfig_of_talos_leads_there_by_the_virtual_address(kube: KubeLab) -> None:
    await kube.until(lambda: kube.server.world.vip_holders)
    async with KubeClient.from_kubeconfig(kube.kubeconfig(), limits=FEW_TRIES) as client:
        assert client.server == f"{kube.network[5]}:6443"
        assert await client.find(Ref("v1", "Namespace", "default")) is not None


async def test_the_certificate_is_of_the_cluster_and_has_its_names(kube: KubeLab) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=kube.configs.bundle.k8s.certificate)
    _, writer = await asyncio.open_connection(
        kube.address(1), 6443, ssl=context, server_hostname="kubernetes.default.svc.cluster.local"
    )
    shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    names = x509.load_der_x509_certificate(shown).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    addresses = {str(one) for one in names.value.get_values_for_type(x509.IPAddress)}
    assert {kube.address(1), str(kube.network[5]), "10.96.0.1", "127.0.0.1"} <= addresses
    assert {"kubernetes", "localhost", "cp-1"} <= set(names.value.get_values_for_type(x509.DNSName))


def stranger(kube: KubeLab, **credentials: object) -> KubeClient:
    known = {"authority": kube.configs.bundle.k8s.certificate, "server_name": "kubernetes", **credentials}
    return KubeClient([kube.address(1)], Credentials(**known), limits=FEW_TRIES)  # type: ignore[arg-type]


async def test_nobody_is_let_in_without_a_name(kube: KubeLab) -> None:
    for credentials in ({}, {"token": Secret("a.b.c")}):
        async with stranger(kube, **credentials) as client:
            for path in ("/version", "/readyz", "/api/v1/pods"):
                with pytest.raises(errors.Refused) as caught:
                    await client.caller.ask("GET", path, attempts=1)
                assert (caught.value.code, caught.value.reason) == (401, "Unauthorized")


async def test_a_certificate_of_another_authority_is_refused(kube: KubeLab) -> None:
    other = pki.new_authority("kubernetes", pki.KeyKind.ECDSA_P256)
    pair = pki.new_leaf(other, ["system:masters"], lifetime=timedelta(hours=1), common_name="admin")
    known = Credentials(kube.configs.bundle.k8s.certificate, pair.certificate, pair.key)
    with pytest.raises((ssl.SSLError, ConnectionError)):
        reader, writer = await asyncio.open_connection(
            kube.address(1), 6443, ssl=known.context(), server_hostname="kubernetes"
        )
        writer.write(b"GET /version HTTP/1.1\r\nHost: k\r\n\r\n")
        await asyncio.wait_for(reader.readexactly(1), PATIENCE)


async def test_a_user_may_do_what_roles_say(kube: KubeLab, client: KubeClient) -> None:
    start = datetime.now(UTC) - timedelta(minutes=1)
    pair = pki.new_leaf(kube.configs.bundle.k8s, ["team"], lifetime=timedelta(hours=1), common_name="bob", now=start)
    async with stranger(kube, certificate=pair.certificate, key=pair.key) as bob:
        with pytest.raises(errors.Denied, match='User "bob" cannot list resource "configmaps" in API group ""'):
            await bob.list("v1", "ConfigMap", "default")
        await client.create(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "RoleBinding",
                "metadata": {"name": "team-views", "namespace": "default"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "team"}],
            }
        )
        assert (await bob.list("v1", "ConfigMap", "default", labels="no=such")).items == ()
        for namespace, verb in (("kube-system", "list"), ("default", "create")):
            with pytest.raises(errors.Denied, match=f"cannot {verb}"):
                if verb == "list":
                    await bob.list("v1", "ConfigMap", namespace)
                else:
                    await bob.create(config_map("a"))


async def test_a_service_account_comes_with_its_token(kube: KubeLab, client: KubeClient) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "default"}}
    await client.create(account)
    path = "/api/v1/namespaces/default/serviceaccounts/robot/token"
    given = await client.caller.ask("POST", path, body={"spec": {}})
    async with stranger(kube, token=Secret(given.item["status"]["token"])) as robot:
        review = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        who = (await robot.caller.ask("POST", review, body={})).item["status"]["userInfo"]
        assert who["username"] == "system:serviceaccount:default:robot"
        assert "system:serviceaccounts:default" in who["groups"]
        await client.delete(Ref("v1", "ServiceAccount", "robot", "default"))
        with pytest.raises(errors.Refused) as caught:
            await robot.caller.ask("GET", "/version", attempts=1)
        assert caught.value.code == 401


async def test_changes_are_followed_as_they_come(client: KubeClient) -> None:
    await client.create(config_map("a"))
    found: list[object] = []
    async for one in follow(client, "v1", "ConfigMap", "default", fields=OURS, seconds=int(PATIENCE)):
        if isinstance(one, Snapshot):
            found.append([item["metadata"]["name"] for item in one.items])
            await client.create(config_map("b"))
        elif isinstance(one, Event):
            found.append((one.kind, one.item["metadata"]["name"]))
            if one.kind == "DELETED":
                break
            await client.delete(Ref("v1", "ConfigMap", "b", "default"))
    assert found == [["a"], ("ADDED", "b"), ("DELETED", "b")]


async def test_a_watch_ends_when_its_time_is_up(client: KubeClient) -> None:
    lines = [line async for line in client.events("v1", "ConfigMap", "default", "", fields=OURS, seconds=1)]
    assert lines == []


# HTTP itself


class Raw:
    """Bytes to the server and back, with an administrator's certificate."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def to(cls, kube: KubeLab) -> Raw:
        context = Credentials.from_bundle(kube.configs.bundle).context()
        streams = await asyncio.open_connection(kube.address(1), 6443, ssl=context, server_hostname="kubernetes")
        return cls(*streams)

    async def ask(self, *pieces: bytes) -> tuple[int, bytes]:
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()
        return await asyncio.wait_for(self._answer(), PATIENCE)

    async def _answer(self) -> tuple[int, bytes]:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        length = next(line for line in head.lower().splitlines() if line.startswith("content-length:"))
        return int(head.split()[1]), await self.reader.readexactly(int(length.split()[1]))


async def test_requests_follow_each_other_on_a_connection(kube: KubeLab) -> None:
    raw = await Raw.to(kube)
    version = b"GET /version HTTP/1.1\r\nHost: k\r\n\r\n"
    assert (await raw.ask(version, version))[0] == 200  # two at once …
    assert (await raw.ask())[0] == 200  # … are answered one after the other
    body = json.dumps(config_map("a")).encode()
    head = b"POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: k\r\nContent-Type: application/json\r\n"
    chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    code, made = await raw.ask(head + b"Transfer-Encoding: chunked\r\n\r\n", chunks[:20], chunks[20:])
    assert code == 201 and json.loads(made)["metadata"]["name"] == "a"
    raw.writer.close()


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nBad Header: x\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 99999999\r\n\r\n", 413),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * (http.MOST_HEAD + 10), 431),
    ],
    ids=["no-http", "header", "two-lengths", "negative", "chunk", "large-body", "large-head"],
)
async def test_what_is_not_http_or_too_much_of_it_is_refused(kube: KubeLab, request_: bytes, code: int) -> None:
    raw = await Raw.to(kube)
    assert (await raw.ask(request_))[0] == code
    assert await asyncio.wait_for(raw.reader.read(), PATIENCE) == b""  # and the connection is closed
    raw.writer.close()


async def test_a_client_that_never_ends_its_request_is_left(kube: KubeLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "REQUEST_PATIENCE", 0.2)
    raw = await Raw.to(kube)
    raw.writer.write(b"GET /version HTTP/1.1\r\nHost")
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await asyncio.wait_for(raw.reader.readexactly(1), PATIENCE)
    raw.writer.close()


async def test_a_watcher_that_reads_nothing_is_left(
    kube: KubeLab, client: KubeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "READ_PATIENCE", 0.2)
    raw = await Raw.to(kube)
    raw.writer.write(b"GET /api/v1/namespaces/default/configmaps?watch=1 HTTP/1.1\r\nHost: k\r\n\r\n")
    servers = kube.server._listeners._kube
    await kube.until(lambda: any(one.busy for one in servers._connections.get("cp-1", ())))
    raw.writer.transport.pause_reading()  # type: ignore[attr-defined]
    for number in range(12):
        await client.create(config_map(f"big-{number}", x="x" * 900_000))
    await kube.until(lambda: not any(one.busy for one in servers._connections["cp-1"]))
    raw.writer.transport.abort()
