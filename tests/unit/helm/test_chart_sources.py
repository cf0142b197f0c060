"""Charts from repositories and registries: digests, logins, redirects, faults, the cache."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from talosmith.errors import Permanent, Temporary
from talosmith.helm import (
    ChartError,
    Client,
    Credentials,
    RegistryChart,
    Release,
    RepositoryChart,
    Store,
    render,
)
from talosmith.model.secret import Secret
from tests.chart_server import ChartServer, serving, sha256
from tests.charts import chart, packed
from tests.loopback import unused_port

LOGIN = ("user", "pass-word")


def names(source: Any, client: Client, store: Store) -> list[str]:
    return [one.name for one in render(source, Release("r"), client=client, store=store).objects]


def with_login(client: Client, host: str) -> Client:
    return dataclasses.replace(client, credentials={host: Credentials(LOGIN[0], Secret(LOGIN[1]))})


def publish(server: ChartServer, *versions: str, digest: str | None = None, url: str = "web-{}.tgz") -> None:
    entries = []
    for version in versions:
        content = chart(version)
        server.pages[f"/charts/web-{version}.tgz"] = content
        told = sha256(content).removeprefix("sha256:") if digest is None else digest
        entries.append(f"  - {{version: {version}, digest: '{told}', urls: ['{url.format(version)}']}}")
    server.pages["/charts/index.yaml"] = ("apiVersion: v1\nentries:\n  web:\n" + "\n".join(entries)).encode()


def repository(server: ChartServer, version: str = "") -> RepositoryChart:
    return RepositoryChart(f"{server.url}/charts", "web", version)


# An HTTP repository


@pytest.mark.parametrize(
    ("asked", "got"),
    [("", "1.10.0"), ("1.2.0", "1.2.0"), ("~1.2", "1.2.9"), (">=1.3.0-0", "2.0.0-rc.1"), ("^1.0.0", "1.10.0")],
)
def test_the_newest_version_that_fits_is_taken(
    asked: str, got: str, server: ChartServer, client: Client, store: Store
) -> None:
    publish(server, "1.2.0", "1.10.0", "1.2.9", "2.0.0-rc.1")
    assert names(repository(server, asked), client, store) == [f"r-{got}"]


def test_an_archive_that_is_known_by_its_digest_is_not_fetched_again(
    server: ChartServer, client: Client, store: Store
) -> None:
    publish(server, "1.0.0")
    for _ in range(2):
        assert names(repository(server), client, store) == ["r-1.0.0"]
    assert (server.count("index.yaml"), server.count(".tgz")) == (2, 1)


def test_a_damaged_copy_in_the_cache_is_fetched_anew(server: ChartServer, client: Client, store: Store) -> None:
    publish(server, "1.0.0")
    names(repository(server), client, store)
    (kept,) = (store.folder / "blobs").iterdir()
    kept.write_bytes(b"damaged")
    assert names(repository(server), client, store) == ["r-1.0.0"]
    assert server.count(".tgz") == 2


def test_an_archive_with_another_digest_is_refused(server: ChartServer, client: Client, store: Store) -> None:
    publish(server, "1.0.0", digest="0" * 64)
    with pytest.raises(ChartError, match="was promised"):
        names(repository(server), client, store)
    assert not (store.folder / "blobs").exists()


def test_a_login_goes_to_the_repository_and_not_to_other_hosts(
    server: ChartServer, client: Client, store: Store
) -> None:
    with serving() as elsewhere:
        publish(server, "1.0.0", url=elsewhere.url + "/charts/web-{}.tgz")
        elsewhere.pages.update(server.pages)
        server.login = LOGIN
        both = dataclasses.replace(
            client,
            credentials={host: Credentials(LOGIN[0], Secret(LOGIN[1])) for host in (server.host, elsewhere.host)},
        )
        assert names(repository(server), both, store) == ["r-1.0.0"]
        assert server.asked[0][1].startswith("Basic ")
        assert [given for _, given in elsewhere.asked] == [""]


def test_a_login_does_not_follow_a_redirect_elsewhere(server: ChartServer, client: Client, store: Store) -> None:
    with serving() as elsewhere:
        publish(server, "1.0.0")
        elsewhere.pages.update(server.pages)
        server.redirects["/charts/web-1.0.0.tgz"] = f"{elsewhere.url}/charts/web-1.0.0.tgz"
        server.login = LOGIN
        assert names(repository(server), with_login(client, server.host), store) == ["r-1.0.0"]
        assert [given for _, given in elsewhere.asked] == [""]


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_fault_that_passes_is_waited_out(
    status: int, server: ChartServer, client: Client, store: Store, waits: list[float]
) -> None:
    publish(server, "1.0.0")
    server.faults["/charts/index.yaml"] = [(status, {"Retry-After": "7"}), (status, {})]
    assert names(repository(server), client, store) == ["r-1.0.0"]
    assert waits == [7.0, 2.0]


def test_a_fault_that_stays_is_told_as_temporary(server: ChartServer, client: Client, store: Store) -> None:
    server.faults["/charts/index.yaml"] = [(503, {})] * 9
    with pytest.raises(Temporary, match="answers 503"):
        names(repository(server), client, store)
    assert server.count("index.yaml") == client.attempts


def test_a_server_that_is_not_there_is_temporary(client: Client, store: Store, server: ChartServer) -> None:
    with unused_port() as port, pytest.raises(Temporary, match="cannot be reached"):
        names(RepositoryChart(f"http://127.0.0.1:{port}", "web"), client, store)


@pytest.mark.parametrize(("status", "said"), [(401, "login"), (403, "forbids"), (404, "does not have")])
def test_a_refusal_is_permanent(status: int, said: str, server: ChartServer, client: Client, store: Store) -> None:
    server.faults["/charts/index.yaml"] = [(status, {})]
    with pytest.raises(Permanent, match=said):
        names(repository(server), client, store)
    assert len(server.asked) == 1


def test_a_truncated_archive_is_asked_for_again_and_never_kept(
    server: ChartServer, client: Client, store: Store
) -> None:
    publish(server, "1.0.0")
    server.truncated.add("/charts/web-1.0.0.tgz")
    with pytest.raises(Temporary):
        names(repository(server), client, store)
    assert server.count(".tgz") == client.attempts
    assert not (store.folder / "blobs").exists()


def test_redirects_without_end_are_given_up(server: ChartServer, client: Client, store: Store) -> None:
    server.redirects["/charts/index.yaml"] = f"{server.url}/charts/index.yaml"
    with pytest.raises(Permanent, match="without end"):
        names(repository(server), client, store)


def test_a_redirect_to_a_file_is_not_followed(server: ChartServer, client: Client, store: Store) -> None:
    server.redirects["/charts/index.yaml"] = "file:///etc/hostname"
    with pytest.raises(Permanent, match="no HTTP address"):
        names(repository(server), client, store)


def test_unknown_names_and_versions_are_told(server: ChartServer, client: Client, store: Store) -> None:
    publish(server, "1.0.0")
    with pytest.raises(ChartError, match="has no chart 'other'"):
        names(RepositoryChart(f"{server.url}/charts", "other"), client, store)
    with pytest.raises(ChartError, match=r"no version 9\.9\.9 of web; versions near it: 1\.0\.0"):
        names(repository(server, "9.9.9"), client, store)


def test_the_proxy_of_the_environment_is_used(
    server: ChartServer, client: Client, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(server, "1.0.0")
    monkeypatch.setenv("http_proxy", server.url)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert names(RepositoryChart("http://charts.example.invalid/charts", "web"), client, store) == ["r-1.0.0"]
    assert server.asked[0][0] == "http://charts.example.invalid/charts/index.yaml"


# An OCI registry


def registry(server: ChartServer, rest: str = "", version: str = "") -> RegistryChart:
    return RegistryChart(f"oci://{server.host}/team/web{rest}", version)


@pytest.mark.parametrize(
    ("rest", "asked", "got"),
    [
        (":1.2.0", "", "1.2.0"),
        ("", "1.2.0", "1.2.0"),
        ("", "", "1.10.0"),
        ("", "~1.2", "1.2.9"),
        ("", "1.3.0+b.1", "1.3.0+b.1"),
    ],
)
def test_a_chart_is_pulled_by_tag_version_or_range(
    rest: str, asked: str, got: str, server: ChartServer, client: Client, store: Store
) -> None:
    for version in ("1.2.0", "1.10.0", "1.2.9", "1.3.0+b.1", "2.0.0-rc.1"):
        server.push("team/web", version.replace("+", "_"), chart(version))
    assert names(registry(server, rest, asked), client, store) == [f"r-{got}"]


def test_a_chart_that_is_pinned_by_its_digest_is_fetched_once(
    server: ChartServer, client: Client, store: Store
) -> None:
    digest = server.push("team/web", "1.0.0", chart())
    for _ in range(2):
        assert names(registry(server, f":1.0.0@{digest}"), client, store) == ["r-1.0.0"]
    assert len(server.asked) == 2  # the manifest and the archive; the second time nothing


def test_a_manifest_with_another_digest_is_refused(server: ChartServer, client: Client, store: Store) -> None:
    digest = server.push("team/web", "1.0.0", chart())
    server.pages[f"/v2/team/web/manifests/{digest}"] += b" "
    with pytest.raises(ChartError, match="was promised"):
        names(registry(server, f"@{digest}"), client, store)


def test_a_blob_with_another_content_is_refused(server: ChartServer, client: Client, store: Store) -> None:
    content = chart()
    server.push("team/web", "1.0.0", content)
    server.pages[f"/v2/team/web/blobs/{sha256(content)}"] = chart("6.6.6")
    with pytest.raises(ChartError, match="was promised"):
        names(registry(server, ":1.0.0"), client, store)


def test_a_truncated_blob_is_never_taken(server: ChartServer, client: Client, store: Store) -> None:
    content = chart()
    server.push("team/web", "1.0.0", content)
    server.truncated.add(f"/v2/team/web/blobs/{sha256(content)}")
    with pytest.raises(Temporary):
        names(registry(server, ":1.0.0"), client, store)


@pytest.mark.parametrize("token_login", [False, True], ids=["basic", "token"])
def test_a_registry_s_login_is_answered(token_login: bool, server: ChartServer, client: Client, store: Store) -> None:
    server.push("team/web", "1.0.0", chart())
    server.login, server.token_login = LOGIN, token_login
    assert names(registry(server, ":1.0.0"), with_login(client, server.host), store) == ["r-1.0.0"]


@pytest.mark.parametrize("token_login", [False, True], ids=["basic", "token"])
def test_a_wrong_login_is_permanent_and_not_shown(
    token_login: bool, server: ChartServer, client: Client, store: Store
) -> None:
    server.push("team/web", "1.0.0", chart())
    server.login, server.token_login = ("user", "another"), token_login
    with pytest.raises(Permanent) as caught:
        names(registry(server, ":1.0.0"), with_login(client, server.host), store)
    assert LOGIN[1] not in f"{caught.value} {caught.value.hint} {client!r}"


def test_a_token_is_not_sent_along_with_a_redirect(server: ChartServer, client: Client, store: Store) -> None:
    content = chart()
    server.push("team/web", "1.0.0", content)
    server.login, server.token_login = LOGIN, True
    with serving() as elsewhere:
        elsewhere.pages["/blob"] = content
        server.redirects[f"/v2/team/web/blobs/{sha256(content)}"] = f"{elsewhere.url}/blob?signature=x"
        assert names(registry(server, ":1.0.0"), with_login(client, server.host), store) == ["r-1.0.0"]
        assert elsewhere.asked == [("/blob?signature=x", "")]


def test_a_token_is_not_fetched_over_an_open_line(server: ChartServer, client: Client, store: Store) -> None:
    challenge = {"WWW-Authenticate": 'Bearer realm="http://tokens.example.com/t",service="s"'}
    server.faults["/v2/team/web/manifests/1.0.0"] = [(401, challenge)]
    with pytest.raises(Permanent, match="without TLS"):
        names(registry(server, ":1.0.0"), with_login(client, server.host), store)


def test_what_is_no_chart_is_refused(server: ChartServer, client: Client, store: Store) -> None:
    server.push("team/web", "1.0.0", chart(), media_type="application/vnd.oci.image.layer.v1.tar+gzip")
    with pytest.raises(ChartError, match="is no chart"):
        names(registry(server, ":1.0.0"), client, store)
    server.push("team/web", "2.0.0", packed({"README": "x"}))
    with pytest.raises(ChartError, match=r"no Chart\.yaml"):
        names(registry(server, ":2.0.0"), client, store)


@pytest.mark.parametrize("text", ["oci://host", "https://host/x", "oci://host/UPPER", "oci://host/x@sha256:12"])
def test_a_reference_that_cannot_be_meant_is_refused(text: str, client: Client, store: Store) -> None:
    with pytest.raises(ChartError, match="is no place in a registry"):
        names(RegistryChart(text), client, store)
