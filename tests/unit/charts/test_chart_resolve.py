"""Charts of all add-ons at once: lock, cache, mirrors, digests, and every problem in one go."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from talosmith.charts import ChartContent, ChartProblem, Lock, resolve
from talosmith.helm import Client, Credentials, Store
from talosmith.model.cluster import ChartPin
from talosmith.model.secret import Secret
from tests.chart_server import ChartServer, serving, sha256
from tests.charts import chart, packed, standin_chart
from tests.loopback import unused_port

OCI = ChartPin("oci://ghcr.io/org/charts/web", "1.0.0")
HTTP = ChartPin("https://charts.example.org/stable", "1.0.0", "web")


def resolved(
    pins: dict[str, ChartPin], lock: Lock, server: ChartServer, client: Client, store: Store, **options: Any
) -> dict[str, ChartContent]:
    contents, problems = resolve(pins, lock, mirrors=server.mirrors, client=client, store=store, **options)
    assert problems == []
    return contents


def problems(
    pins: dict[str, ChartPin], lock: Lock, server: ChartServer, client: Client, store: Store, **options: Any
) -> list[ChartProblem]:
    contents, found = resolve(pins, lock, mirrors=server.mirrors, client=client, store=store, **options)
    assert not set(contents) & {one.addon for one in found}
    return found


def offered(server: ChartServer, content: bytes | None = None) -> str:
    content = content or chart()
    server.offer(OCI.source, "1.0.0", content)
    return server.offer(HTTP.source, "1.0.0", content, "web")


def locked(server: ChartServer, client: Client, *pins: str) -> Lock:
    """The lock of a computer with a cache of its own."""
    both = {"oci": OCI, "http": HTTP}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "put", lambda self, content: sha256(content))
        contents = resolved({name: both[name] for name in pins}, Lock(), server, client, Store(Path("/nowhere")))
    return Lock().with_(contents)


def test_a_chart_has_the_same_digest_whatever_it_came_by(server: ChartServer, client: Client, store: Store) -> None:
    digest = offered(server)
    found = resolved({"a": OCI, "b": HTTP}, Lock(), server, client, store)
    assert {(one.version, one.digest) for one in found.values()} == {("1.0.0", digest)}
    assert found["a"].pin == OCI
    assert set(found["a"].files()) == {"Chart.yaml", "templates/a.yaml"}
    assert found["a"].files() is found["a"].files()


def test_what_is_locked_and_cached_needs_no_network(server: ChartServer, client: Client, store: Store) -> None:
    offered(server)
    pins = {"a": OCI, "b": HTTP}
    lock = Lock().with_(resolved(pins, Lock(), server, client, store))
    server.asked.clear()
    found = resolved(pins, lock, server, client, store, offline=True)
    assert list(found) == ["a", "b"]
    assert server.asked == []


def test_a_broken_file_of_logins_is_no_problem_without_network(
    server: ChartServer, client: Client, store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    offered(server)
    lock = Lock().with_(resolved({"a": OCI}, Lock(), server, client, store))
    (tmp_path / "config.json").write_text("{")
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    contents, found = resolve({"a": OCI}, lock, mirrors={}, store=store)
    assert list(contents) == ["a"]
    contents, found = resolve({"a": OCI}, Lock(), mirrors={}, store=store)
    assert "config.json cannot be read as a file of logins" in found[0].what


@pytest.mark.parametrize("name", ["oci", "http"])
def test_what_is_locked_is_fetched_where_the_cache_lacks_it(
    name: str, server: ChartServer, client: Client, store: Store
) -> None:
    digest = offered(server)
    lock = locked(server, client, name)
    pin = OCI if name == "oci" else HTTP
    assert resolved({name: pin}, lock, server, client, store)[name].digest == digest
    assert store.get(digest) == chart()


@pytest.mark.parametrize("name", ["oci", "http"])
def test_a_version_that_was_published_again_is_refused(
    name: str, server: ChartServer, client: Client, store: Store
) -> None:
    before = offered(server)
    lock = locked(server, client, name)
    after = offered(server, packed({"Chart.yaml": "{apiVersion: v2, name: web, version: 1.0.0}", "new": "x"}))
    (problem,) = problems({name: OCI if name == "oci" else HTTP}, lock, server, client, store)
    assert (before in problem.what, after in problem.what) == (True, True)
    assert "charts.lock has" in problem.what
    assert "remove oci from charts.lock" in problem.fix or name == "http"
    assert not (store.folder / "blobs").exists()


@pytest.mark.parametrize("pin", [OCI, HTTP], ids=["oci", "http"])
def test_a_digest_of_the_inventory_is_verified(
    pin: ChartPin, server: ChartServer, client: Client, store: Store
) -> None:
    digest = offered(server)
    good, bad = (dataclasses.replace(pin, digest=one) for one in (digest, "sha256:" + "0" * 64))
    (problem,) = problems({"web": bad}, Lock(), server, client, store)
    assert digest in problem.what
    assert bad.digest in problem.what
    assert resolved({"web": good}, Lock(), server, client, store)["web"].digest == digest
    server.asked.clear()
    assert resolved({"web": good}, Lock(), server, client, store, offline=True)["web"].version == "1.0.0"
    assert server.asked == []  # known by version and digest


def test_a_repository_without_digests_is_verified_all_the_same(
    server: ChartServer, client: Client, store: Store
) -> None:
    digest = offered(server)
    page = "/charts.example.org/stable/index.yaml"
    server.pages[page] = server.pages[page].replace(digest[7:].encode(), b"")
    (problem,) = problems(
        {"web": dataclasses.replace(HTTP, digest="sha256:" + "0" * 64)}, Lock(), server, client, store
    )
    assert digest in problem.what
    assert resolved({"web": HTTP}, Lock(), server, client, store)["web"].digest == digest


def test_the_digest_of_a_manifest_is_told_apart(server: ChartServer, client: Client, store: Store) -> None:
    archive = offered(server)
    manifest = sha256(server.pages["/v2/ghcr.io/org/charts/web/manifests/1.0.0"])
    (problem,) = problems({"web": dataclasses.replace(OCI, digest=manifest)}, Lock(), server, client, store)
    assert "digest of the manifest" in problem.what
    assert archive in problem.what


def test_lock_and_inventory_that_differ_are_told_without_network(
    server: ChartServer, client: Client, store: Store
) -> None:
    digest = offered(server)
    lock = locked(server, client, "oci")
    server.asked.clear()
    other = "sha256:" + "1" * 64
    (problem,) = problems({"oci": dataclasses.replace(OCI, digest=other)}, lock, server, client, store)
    assert (digest in problem.what, other in problem.what, server.asked) == (True, True, [])


def test_another_version_or_source_is_resolved_anew(server: ChartServer, client: Client, store: Store) -> None:
    offered(server)
    lock = locked(server, client, "oci")
    newer = server.offer(OCI.source, "1.1.0", chart("1.1.0"))
    pin = dataclasses.replace(OCI, version="1.1.0")
    assert resolved({"oci": pin}, lock, server, client, store)["oci"].digest == newer


def test_a_range_is_resolved_once(server: ChartServer, client: Client, store: Store) -> None:
    offered(server)
    pin = dataclasses.replace(OCI, version="~1.0")
    lock = Lock().with_(resolved({"web": pin}, Lock(), server, client, store))
    server.offer(OCI.source, "1.0.9", chart("1.0.9"))
    assert resolved({"web": pin}, lock, server, client, store)["web"].version == "1.0.0"
    assert resolved({"web": pin}, Lock(), server, client, store)["web"].version == "1.0.9"


def test_every_problem_is_told_in_one_go(server: ChartServer, client: Client, store: Store) -> None:
    offered(server)
    for version in ("1.0.1", "1.0.2", "1.2.0", "2.0.0"):
        server.offer(OCI.source, version, chart(version))
        server.offer(HTTP.source, version, chart(version), "web")
    with unused_port() as port:
        found = problems(
            {
                "good": OCI,
                "version": dataclasses.replace(OCI, version="1.1.0"),
                "entry": dataclasses.replace(HTTP, version="1.1.0"),
                "name": dataclasses.replace(HTTP, name="wbe"),
                "path": dataclasses.replace(OCI, source="oci://ghcr.io/org/charts/wbe"),
                "host": ChartPin(f"oci://127.0.0.1:{port}/web", "1.0.0"),
                "folder": ChartPin("/does/not/exist"),
            },
            Lock(),
            server,
            client,
            store,
        )
    assert [one.addon for one in found] == ["version", "entry", "name", "path", "host", "folder"]
    told = {one.addon: one.what for one in found}
    assert told["version"].endswith("/web has no version 1.1.0; versions near it: 1.0.1, 1.0.2, 1.2.0, 2.0.0")
    assert told["entry"].endswith("has no version 1.1.0 of web; versions near it: 1.0.1, 1.0.2, 1.2.0, 2.0.0")
    assert "has no chart 'wbe'" in told["name"]
    assert "does not exist (HTTP 404" in told["path"]
    assert "Connection refused" in told["host"]
    assert "/does/not/exist" in told["folder"]
    assert all(one.fix for one in found)


def test_without_network_and_cache_the_problem_says_so(server: ChartServer, client: Client, store: Store) -> None:
    offered(server)
    for lock in (Lock(), locked(server, client, "oci")):
        server.asked.clear()
        (problem,) = problems({"oci": OCI}, lock, server, client, store, offline=True)
        assert "oci://ghcr.io/org/charts/web 1.0.0 is not in the cache" in problem.what
        assert "bundle" in problem.fix
        assert server.asked == []


def test_a_damaged_copy_in_the_cache_is_fetched_anew(server: ChartServer, client: Client, store: Store) -> None:
    offered(server)
    lock = Lock().with_(resolved({"web": OCI}, Lock(), server, client, store))
    (kept,) = (store.folder / "blobs").iterdir()
    kept.write_bytes(b"damaged")
    assert resolved({"web": OCI}, lock, server, client, store)["web"].archive == chart()


def test_an_index_is_asked_for_once(server: ChartServer, client: Client, store: Store) -> None:
    pins = {}
    for name in ("one", "two", "three", "four"):
        server.offer(HTTP.source, "1.0.0", standin_chart(name, "1.0.0"), name)
        pins[name] = dataclasses.replace(HTTP, name=name)
    assert len(resolved(pins, Lock(), server, client, store)) == 4
    assert server.count("index.yaml") == 1


def test_a_login_is_used_for_the_mirror_s_host(server: ChartServer, client: Client, store: Store) -> None:
    offered(server)
    server.login = ("user", "pass-word")
    assert len(problems({"a": OCI, "b": HTTP}, Lock(), server, client, store)) == 2
    known = dataclasses.replace(client, credentials={server.host: Credentials("user", Secret("pass-word"))})
    assert len(resolved({"a": OCI, "b": HTTP}, Lock(), server, known, store)) == 2


def test_a_chart_that_is_another_version_inside_is_refused(server: ChartServer, client: Client, store: Store) -> None:
    offered(server, chart("6.6.6"))
    (problem,) = problems({"web": OCI}, Lock(), server, client, store)
    assert "holds version 6.6.6 of the chart, not 1.0.0" in problem.what


def test_a_chart_that_is_too_big_is_not_downloaded(server: ChartServer, client: Client, store: Store) -> None:
    page = "/v2/ghcr.io/org/charts/web/manifests/1.0.0"
    offered(server)
    size = f'"size": {len(chart())}'.encode()
    assert size in server.pages[page]
    server.pages[page] = server.pages[page].replace(size, b'"size": 104857600')
    (problem,) = problems({"web": OCI}, Lock(), server, client, store)
    assert "104857600 bytes" in problem.what
    assert server.count("/blobs/") == 0


def test_an_archive_with_a_path_that_leads_out_is_refused(server: ChartServer, client: Client, store: Store) -> None:
    offered(server, packed({"web/Chart.yaml": "x", "web/../../etc/passwd": "x"}, folder=""))
    found = problems({"a": OCI, "b": HTTP}, Lock(), server, client, store)
    assert all("leads out of the chart" in one.what for one in found)
    assert len(found) == 2


def test_local_charts_are_read_and_never_locked(tmp_path: Path, store: Store) -> None:
    folder, file = tmp_path / "web", tmp_path / "web.tgz"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("{apiVersion: v2, name: web, version: 3.0.0}")
    file.write_bytes(chart())
    pins = {"folder": ChartPin(str(folder)), "file": ChartPin(str(file))}
    contents, found = resolve(pins, Lock(), mirrors={}, store=store, offline=True)
    assert not found
    assert (contents["folder"].version, contents["file"].version) == ("3.0.0", "1.0.0")
    assert contents["file"].digest == sha256(chart())
    before = contents["folder"].digest
    (folder / "templates" / "new.yaml").write_text("")
    contents, _ = resolve(pins, Lock(), mirrors={}, store=store)
    assert contents["folder"].digest != before
    assert Lock().with_(contents) == Lock()


def test_archives_of_an_index_on_another_host_come_by_its_mirror(
    server: ChartServer, client: Client, store: Store
) -> None:
    with serving() as releases:
        releases.pages["/github.com/org/web-1.0.0.tgz"] = chart()
        server.pages["/charts.example.org/index.yaml"] = (
            b"apiVersion: v1\nentries:\n  web:\n  - version: 1.0.0\n    urls: [https://github.com/org/web-1.0.0.tgz]\n"
        )
        mirrors = {
            "charts.example.org": f"{server.url}/charts.example.org",
            "github.com": f"{releases.url}/github.com",
        }
        pin = ChartPin("https://charts.example.org", "1.0.0", "web")
        contents, found = resolve({"web": pin}, Lock(), mirrors=mirrors, client=client, store=store)
    assert not found
    assert contents["web"].digest == sha256(chart())


def test_a_registry_may_mirror_a_repository_and_the_other_way_round(
    server: ChartServer, client: Client, store: Store
) -> None:
    server.push("mirror/stable/web", "1.0.0", chart())
    server.publish("mirror/org/charts", "web", "1.0.0", chart())
    mirrors = {"charts.example.org": f"oci://{server.host}/mirror", "ghcr.io": f"{server.url}/mirror/"}
    contents, found = resolve({"a": HTTP, "b": OCI}, Lock(), mirrors=mirrors, client=client, store=store)
    assert not found
    assert {one.digest for one in contents.values()} == {sha256(chart())}
    assert Lock().with_(contents).charts["a"].source == HTTP.source
