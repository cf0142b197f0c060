"""The client against a real API server: who is trusted, who answers, what comes back."""

from __future__ import annotations

import asyncio
import base64
import socket
from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace
from typing import Any

import pytest

from talosmith.desired import pki
from talosmith.desired.pki import KeyKind
from talosmith.kube import (
    AlreadyExists,
    ApiHealth,
    Changed,
    Credentials,
    Denied,
    Event,
    Invalid,
    KubeClient,
    NoConnection,
    NotFound,
    NotServed,
    NotTrusted,
    Ref,
    Refused,
    Snapshot,
    api_health,
    follow,
)
from talosmith.kube.discovery import Discovery
from talosmith.kube.objects import uid, version
from tests.real.kube.apiserver import ApiServer
from tests.real.kube.patience import PATIENCE, PATIENT

QUICK = replace(PATIENT, attempts=2, first_pause=0.05)


def config_map(namespace: str, name: str = "one", **data: str) -> dict[str, object]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@pytest.fixture
def unused() -> Iterator[list[str]]:
    """Two addresses where nobody answers: they are taken, so that nobody else can have them, but not listened on."""
    with socket.socket() as one, socket.socket() as two:
        for taken in (one, two):
            taken.bind(("127.0.0.1", 0))
        yield [f"127.0.0.1:{taken.getsockname()[1]}" for taken in (one, two)]


async def test_any_control_plane_will_do(kube_apiserver: ApiServer, unused: list[str]) -> None:
    addresses = [unused[0], kube_apiserver.address]
    async with KubeClient.from_bundle(kube_apiserver.bundle, addresses, limits=PATIENT) as client:
        assert (await client.server_version()).startswith("v1.")
        assert client.server == kube_apiserver.address


async def test_no_control_plane_answers(kube_apiserver: ApiServer, unused: list[str]) -> None:
    first, second = unused
    async with KubeClient.from_bundle(kube_apiserver.bundle, [first, second], limits=QUICK) as client:
        with pytest.raises(NoConnection) as caught:
            await client.server_version()
    assert first in str(caught.value)
    assert second in str(caught.value)


async def test_a_server_of_another_cluster_is_not_trusted(kube_apiserver: ApiServer) -> None:
    other = replace(kube_apiserver.bundle, k8s=pki.new_authority("kubernetes", KeyKind.ECDSA_P256))
    async with KubeClient.from_bundle(other, [kube_apiserver.address], limits=PATIENT) as client:
        with pytest.raises(NotTrusted):
            await client.server_version()


async def test_a_server_with_another_name_is_not_trusted(kube_apiserver: ApiServer) -> None:
    credentials = replace(Credentials.from_bundle(kube_apiserver.bundle), server_name="etcd")
    async with KubeClient([kube_apiserver.address], credentials, limits=PATIENT) as client:
        with pytest.raises(NotTrusted, match="etcd"):
            await client.server_version()


async def test_nobody_and_somebody_without_rights(kube_apiserver: ApiServer) -> None:
    admin = Credentials.from_bundle(kube_apiserver.bundle)
    nobody = Credentials(admin.authority, server_name="kubernetes")
    async with KubeClient([kube_apiserver.address], nobody, limits=PATIENT) as client:
        with pytest.raises(Refused):
            await client.list("v1", "Node")
    somebody = Credentials.from_bundle(kube_apiserver.bundle, user="somebody", groups=())
    async with KubeClient([kube_apiserver.address], somebody, limits=PATIENT) as client:
        with pytest.raises(Denied, match="somebody"):
            await client.list("v1", "Node")


async def test_a_kubeconfig_opens_it_too(kube_apiserver: ApiServer) -> None:
    admin = Credentials.from_bundle(kube_apiserver.bundle)

    def encoded(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    user = {
        "client-certificate-data": encoded(admin.certificate),
        "client-key-data": encoded(admin.key.reveal()),
    }
    cluster = {
        "server": "https://vip.invalid:6443",
        "certificate-authority-data": encoded(admin.authority),
        "tls-server-name": "localhost",
    }
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "kube-public"}}],
        "clusters": [{"name": "k", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }
    async with KubeClient.from_kubeconfig(config, addresses=[kube_apiserver.address], limits=PATIENT) as client:
        assert client.namespace == "kube-public"
        assert await client.find(Ref("v1", "Namespace", "kube-system")) is not None


async def test_objects_come_change_and_go(client: KubeClient, namespace: str) -> None:
    ref = Ref("v1", "ConfigMap", "one", namespace)
    assert await client.find(ref) is None
    made = await client.create(config_map(namespace, a="1"))
    with pytest.raises(AlreadyExists):
        await client.create(config_map(namespace))
    patched = await client.patch(ref, {"data": {"b": "2"}})
    assert patched["data"] == {"a": "1", "b": "2"}
    with pytest.raises(Changed):
        await client.replace(made)
    assert (await client.replace({**patched, "data": {"c": "3"}}))["data"] == {"c": "3"}
    with pytest.raises(Changed):
        await client.delete(ref, uid="00000000-0000-0000-0000-000000000000")
    assert await client.delete(ref, uid=uid(made))
    assert not await client.delete(ref)
    with pytest.raises(NotFound) as caught:
        await client.get(ref)
    assert (caught.value.code, caught.value.reason) == (404, "NotFound")
    assert client.server in str(caught.value)
    assert str(ref) in str(caught.value)


async def test_what_the_server_does_not_take(client: KubeClient, namespace: str) -> None:
    with pytest.raises(NotServed, match="Widget"):
        await client.get(Ref("example.org/v1", "Widget", "one", namespace))
    with pytest.raises(Invalid, match="field not declared"):
        await client.apply({**config_map(namespace), "dta": {}})
    with pytest.raises(Invalid, match="RFC 1123"):
        await client.create(config_map(namespace, "Not_A_Name"))


async def test_lists_are_read_page_by_page(
    client: KubeClient, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("talosmith.kube.client.PAGE", 2)
    for number in range(5):
        await client.create(config_map(namespace, f"cm-{number}"))
    listed = await client.list("v1", "ConfigMap", namespace)
    assert [item["metadata"]["name"] for item in listed.items] == [f"cm-{number}" for number in range(5)]
    assert {(item["apiVersion"], item["kind"]) for item in listed.items} == {("v1", "ConfigMap")}


async def test_following_goes_on_when_watches_end(
    client: KubeClient, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watches: list[str] = []
    events = client.events

    def counted(api_version: str, kind: str, inside: str, since: str, **how: Any) -> AsyncGenerator[str]:
        watches.append(since)
        return events(api_version, kind, inside, since, **how)

    monkeypatch.setattr(client, "events", counted)
    first = await client.create(config_map(namespace, "one"))
    changes = follow(client, "v1", "ConfigMap", namespace, seconds=1)
    start = await anext(changes)
    assert isinstance(start, Snapshot)
    assert [version(item) for item in start.items] == [version(first)]
    seen = []
    async with asyncio.timeout(PATIENCE):
        while len(watches) < 3:  # the server ends each after a second
            await client.patch(Ref("v1", "ConfigMap", "one", namespace), {"data": {"n": str(len(seen))}})
            change = await anext(changes)
            assert isinstance(change, Event)
            seen.append((change.kind, change.item["data"]["n"]))
            await asyncio.sleep(0.3)
    await changes.aclose()
    assert seen == [("MODIFIED", str(number)) for number in range(len(seen))]


async def test_the_server_says_that_it_is_ready(client: KubeClient) -> None:
    assert await api_health(client) == ApiHealth(client.server, True)


async def test_all_kinds_at_once_are_those_of_each_group(
    kube_apiserver: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        KubeClient.from_bundle(kube_apiserver.bundle, [kube_apiserver.address], limits=PATIENT) as client,
        KubeClient.from_bundle(kube_apiserver.bundle, [kube_apiserver.address], limits=PATIENT) as at_once,
    ):
        groups = (await client.caller.ask("GET", "/apis")).item["groups"]
        found = {}
        for api_version in ["v1", *(one["groupVersion"] for group in groups for one in group["versions"])]:
            path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
            listed = (await client.caller.ask("GET", path)).item["resources"]
            for kind in {one["kind"] for one in listed if "/" not in one["name"]}:
                found[api_version, kind] = await client.resource(api_version, kind)
        await at_once.discover(api_version for api_version, _ in found)
        monkeypatch.delattr(Discovery, "_ask")  # nothing is left to ask for
        assert {key: await at_once.resource(*key) for key in found} == found
