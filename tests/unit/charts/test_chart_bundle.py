"""Bundles: what an air-gapped site gets is verified, whole, and the same each time."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from talosmith.charts import ChartContent, Lock, read_bundle, resolve, write_bundle
from talosmith.errors import Permanent, TalosmithError
from talosmith.helm import Store, archive
from talosmith.model.cluster import ChartPin
from tests.chart_server import sha256
from tests.charts import chart, packed

PIN = ChartPin("oci://ghcr.io/org/web", "1.0.0")
OWN = ChartPin("/charts/own")


def contents() -> dict[str, ChartContent]:
    return {
        "web": ChartContent(PIN, "1.0.0", sha256(chart()), chart()),
        "again": ChartContent(PIN, "1.0.0", sha256(chart()), chart()),
        "own": ChartContent(OWN, "1.0.0", sha256(chart("2.0.0")), chart("2.0.0")),
    }


def written(path: Path) -> Lock:
    lock = Lock().with_(contents())
    write_bundle(path, contents(), ["b/b:1", "a/a:1", "b/b:1"], lock)
    return lock


def members(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as bundle:
        return {one.name: (bundle.extractfile(one) or io.BytesIO()).read() for one in bundle}


def repacked(path: Path, files: dict[str, bytes], kind: bytes = tarfile.REGTYPE) -> Path:
    with tarfile.open(path, "w") as bundle:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.type = len(content), kind
            bundle.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize("name", ["bundle.tar", "bundle.tar.gz", "bundle.tgz"])
def test_a_bundle_serves_a_site_without_network(name: str, tmp_path: Path) -> None:
    lock = written(tmp_path / name)
    store = Store(tmp_path / "store")
    assert read_bundle(tmp_path / name, store) == lock
    found, problems = resolve({"web": PIN, "again": PIN}, lock, mirrors={}, store=store, offline=True)
    assert not problems
    assert found["web"].archive == chart()
    assert list(members(tmp_path / name)) == ["charts.lock", "images.txt", f"charts/sha256-{sha256(chart())[7:]}.tgz"]
    assert members(tmp_path / name)["images.txt"] == b"a/a:1\nb/b:1\n"


@pytest.mark.parametrize("name", ["bundle.tar", "bundle.tgz"])
def test_the_same_charts_give_the_same_bytes(name: str, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    written(tmp_path / name)
    written(tmp_path / "other" / name)
    assert (tmp_path / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def test_a_lock_with_more_than_the_charts_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Permanent, match=r"charts.lock has again, web"):
        write_bundle(tmp_path / "b.tar", {}, [], Lock().with_(contents()))
    assert not (tmp_path / "b.tar").exists()


def test_a_changed_archive_is_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    written(tmp_path / "b.tar")
    files = members(tmp_path / "b.tar")
    good = next(name for name in files if name.startswith("charts/"))
    bad = repacked(tmp_path / "bad.tar", files | {good: chart("6.6.6")})
    store = Store(tmp_path / "store")
    with pytest.raises(Permanent, match=f"has the digest {sha256(chart('6.6.6'))}"):
        read_bundle(bad, store)
    lacking = repacked(tmp_path / "lacking.tar", {name: files[name] for name in files if name != good})
    with pytest.raises(Permanent, match="lacks the archive of again"):
        read_bundle(lacking, store)
    assert not store.folder.exists()


def test_an_archive_that_is_no_chart_is_refused(tmp_path: Path) -> None:
    hostile = packed({"Chart.yaml": "x", "../../x": "x"})
    content = {"web": ChartContent(PIN, "1.0.0", sha256(hostile), hostile)}
    write_bundle(tmp_path / "b.tar", content, [], Lock().with_(content))
    with pytest.raises(TalosmithError, match="leads out of the chart"):
        read_bundle(tmp_path / "b.tar", Store(tmp_path / "store"))
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("name", ["../charts.lock", "/etc/x", "charts/../x", "charts/a/b", "other", "./charts.lock"])
def test_other_files_have_no_place_in_a_bundle(name: str, tmp_path: Path) -> None:
    with pytest.raises(Permanent, match="has no place in a bundle"):
        read_bundle(repacked(tmp_path / "b.tar", {name: b"x"}), Store(tmp_path / "store"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE])
def test_links_have_no_place_in_a_bundle(kind: bytes, tmp_path: Path) -> None:
    with pytest.raises(Permanent, match="has no place in a bundle"):
        read_bundle(repacked(tmp_path / "b.tar", {"charts.lock": b""}, kind), Store(tmp_path / "store"))


def test_sizes_and_counts_have_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "b.tar")
    monkeypatch.setattr(archive, "MAX_ARCHIVE", 10)
    with pytest.raises(Permanent, match="too big"):
        read_bundle(tmp_path / "b.tar", Store(tmp_path / "store"))
    monkeypatch.setattr("talosmith.charts.bundle._MOST_CHARTS", 1)
    with pytest.raises(Permanent, match="more than 1 charts"):
        read_bundle(
            repacked(tmp_path / "many.tar", {"charts.lock": b"", "images.txt": b"", f"charts/{sha256(b'')}": b""}),
            Store(tmp_path / "store"),
        )


def test_a_bomb_is_not_inflated(tmp_path: Path) -> None:
    header = tarfile.TarInfo("charts.lock")
    header.size = 1 << 40
    (tmp_path / "bomb.tgz").write_bytes(gzip.compress(header.tobuf() + b"\0" * (1 << 20)))
    with pytest.raises(Permanent, match="too big"):
        read_bundle(tmp_path / "bomb.tgz", Store(tmp_path / "store"))


@pytest.mark.parametrize(
    "content",
    [b"", b"no tar at all", gzip.compress(b"no tar" * 200), gzip.compress(b"x")[:8]],
    ids=["empty", "no tar", "gzip of no tar", "cut gzip"],  # compressed bytes have the time in them
)
def test_what_is_no_bundle_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "b.tar").write_bytes(content)
    with pytest.raises(Permanent, match="is no bundle of charts"):
        read_bundle(tmp_path / "b.tar", Store(tmp_path / "store"))
    with pytest.raises(Permanent, match="No such file"):
        read_bundle(tmp_path / "missing.tar", Store(tmp_path / "store"))
