"""How charts are reached: TLS with a CA of one's own, pages of tags, large indexes, logins by host."""

from __future__ import annotations

import dataclasses
import ssl
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from talosmith.desired import pki
from talosmith.desired.pki import KeyKind
from talosmith.errors import Permanent
from talosmith.helm import ChartError, Client, Credentials, RegistryChart, Release, RepositoryChart, Store, render
from talosmith.helm import repository as repositories
from talosmith.helm.registry_session import Session
from talosmith.model.secret import Secret
from tests.chart_server import ChartServer, serving, sha256
from tests.charts import chart


def names(source: Any, client: Client, store: Store) -> list[str]:
    return [one.name for one in render(source, Release("r"), client=client, store=store).objects]


@pytest.fixture
def tls_server(tmp_path: Path) -> Iterator[ChartServer]:
    """With TLS; its CA is in ca.crt."""
    authority = pki.new_authority("charts", KeyKind.ECDSA_P256)
    leaf = pki.new_leaf(authority, [], lifetime=timedelta(hours=1), usages=[pki.SERVER], names=["127.0.0.1"])
    (tmp_path / "ca.crt").write_text(authority.certificate)
    (tmp_path / "server.pem").write_text(leaf.certificate + leaf.key.reveal())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    with serving(context) as running:
        yield running


def test_a_registry_on_loopback_may_have_tls(
    tls_server: ChartServer, client: Client, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls_server.push("team/web", "1.0.0", chart())
    tls_server.publish("charts", "web", "1.0.0", chart())
    sources = [
        RegistryChart(f"oci://{tls_server.host}/team/web", "1.0.0"),
        RepositoryChart(f"{tls_server.url}/charts", "web"),
    ]
    for source in sources:
        with pytest.raises(Permanent, match="certificate is not trusted"):
            names(source, client, store)
    assert tls_server.asked == []
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.crt"))
    for source in sources:
        assert names(source, client, store) == ["r-1.0.0"]


def test_a_login_never_goes_over_the_plain_request_that_finds_tls(
    tls_server: ChartServer, client: Client, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.crt"))
    tls_server.push("team/web", "1.0.0", chart())
    tls_server.login = ("user", "pass-word")
    known = dataclasses.replace(client, credentials={tls_server.host: Credentials("user", Secret("pass-word"))})
    plain: list[dict[str, str]] = []
    once = Client._once

    def watched(self: Client, url: str, limit: int, headers: dict[str, str]) -> Any:
        if url.startswith("http://"):
            plain.append(headers)
        return once(self, url, limit, headers)

    monkeypatch.setattr(Client, "_once", watched)
    assert names(RegistryChart(f"oci://{tls_server.host}/team/web", "1.0.0"), known, store) == ["r-1.0.0"]
    assert len(plain) == 1
    assert "Authorization" not in plain[0]


def test_tags_come_in_pages(server: ChartServer, client: Client, store: Store) -> None:
    server.tags_at_once = 3
    for minor in range(10):
        server.push("team/web", f"1.{minor}.0", chart(f"1.{minor}.0"))
    assert names(RegistryChart(f"oci://{server.host}/team/web", ">=1.0.0"), client, store) == ["r-1.9.0"]
    assert server.count("tags/list") == 4


def test_a_list_of_tags_without_end_is_given_up(server: ChartServer, client: Client, store: Store) -> None:
    server.push("team/web", "1.0.0", chart())
    server.endless_tags = True
    assert names(RegistryChart(f"oci://{server.host}/team/web", ">=1.0.0"), client, store) == ["r-1.0.0"]
    assert server.count("tags/list") == 50


def index(*charts: str, more: str = "") -> str:
    entries = "".join(
        f"  {name}:\n  - apiVersion: v2\n    description: |\n      a\n\n      web:\n    name: {name}\n"
        f"    urls:\n    - web-1.0.0.tgz\n    version: 1.0.0\n    digest: {sha256(chart())[7:]}\n"
        for name in charts
    )
    return f"apiVersion: v1\nentries:\n{entries}generated: 2026-01-01{more}\n"


@pytest.mark.parametrize("charts", [["web"], ["a", "web"], ["web", "z"], ["a-web", "web", "web-b"]])
def test_of_a_large_index_only_the_chart_s_part_is_read(charts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = index(*charts)
    part = repositories._part(text, "web")
    assert part == index("web").partition("\n")[2].rpartition("generated")[0]
    assert repositories._entries(text, "web", "x")[0]["version"] == "1.0.0"


@pytest.mark.parametrize(
    "text",
    [
        index("web").replace("  web:\n", '  "web":\n'),
        index("web", more="\nx: &a b"),
        "entries: {web: [{version: 1.0.0}]}",
        '{"entries": {"web": [{"version": "1.0.0"}]}}',
        "apiVersion: v1\nentries:\n    web:\n    - version: 1.0.0\n",
    ],
)
def test_an_index_of_any_other_layout_is_read_as_a_whole(text: str) -> None:
    assert repositories._part(text, "web") == ""
    assert repositories._entries(text, "web", "x")[0]["version"] == "1.0.0"


def test_a_name_that_is_nearly_right_is_suggested() -> None:
    with pytest.raises(ChartError, match="has no chart 'cert-manger'") as caught:
        repositories._entries(index("cert-manager", "web"), "cert-manger", "x")
    assert caught.value.hint == "did you mean `cert-manager`?"


@pytest.mark.parametrize("login", ["index.docker.io", "docker.io", "registry-1.docker.io"])
def test_docker_s_registry_has_several_names(login: str, client: Client) -> None:
    session = Session(
        "docker.io", "org/web", dataclasses.replace(client, credentials={login: Credentials("u", Secret("p"))})
    )
    assert session.url("tags/list") == "https://registry-1.docker.io/v2/org/web/tags/list"
    assert session.client.of_host(session.url("tags/list")) is not None
    assert session.client.of_host("https://auth.docker.io/token") is None


def test_a_repository_s_login_is_not_sent_over_an_open_line(
    server: ChartServer, client: Client, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    server.publish("charts", "web", "1.0.0", chart())
    host = "charts.example.invalid"
    known = dataclasses.replace(client, credentials={host: Credentials("user", Secret("pass-word"))})
    assert names(RepositoryChart(f"http://{host}/charts", "web"), known, store) == ["r-1.0.0"]
    assert [given for _, given in server.asked] == ["", ""]


def test_loopback_is_not_asked_by_a_proxy(
    server: ChartServer, client: Client, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example.invalid:3128")
    server.push("team/web", "1.0.0", chart())
    assert names(RegistryChart(f"oci://{server.host}/team/web", "1.0.0"), client, store) == ["r-1.0.0"]
