"""Archives from strangers: nothing but plain files of bearable size inside one folder is taken."""

from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest

from talosmith.helm import ChartError, archive, folder
from talosmith.helm.chart import parse
from talosmith.helm.folder import read
from tests.charts import chart, packed

CHART = {"Chart.yaml": "{apiVersion: v2, name: web, version: 1.0.0}"}


def test_files_are_named_by_their_path_inside_the_chart() -> None:
    files = archive.unpack(packed({**CHART, "templates/a.yaml": "a", "README.md": b"\xef\xbb\xbfx"}), where="x")
    assert files == {"Chart.yaml": CHART["Chart.yaml"].encode(), "templates/a.yaml": b"a", "README.md": b"x"}


@pytest.mark.parametrize("name", ["/etc/passwd", "web/../../x", "web/..", "C:/x/y", "web\\x\\y", "loose", "../web/x"])
def test_a_path_that_leads_out_is_refused(name: str) -> None:
    with pytest.raises(ChartError, match=r"leads out|outside"):
        archive.unpack(packed({name: "x"}, folder=""), where="x")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices_are_refused(kind: bytes) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as target:
        member = tarfile.TarInfo("web/link")
        member.type, member.linkname = kind, "/etc/passwd"
        target.addfile(member)
    with pytest.raises(ChartError, match=r"is a link|no plain file"):
        archive.unpack(out.getvalue(), where="x")


def test_a_file_that_stands_there_twice_is_refused() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as target:
        for name in ("web/Chart.yaml", "other/Chart.yaml"):
            target.addfile(tarfile.TarInfo(name))
    with pytest.raises(ChartError, match="twice"):
        archive.unpack(out.getvalue(), where="x")


def test_sizes_and_counts_have_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_FILE", 100)
    with pytest.raises(ChartError, match="101 bytes"):
        archive.unpack(packed({**CHART, "big": "x" * 101}), where="x")
    monkeypatch.setattr(archive, "MAX_FILES", 3)
    with pytest.raises(ChartError, match="more than 3 files"):
        archive.unpack(packed({**CHART, **{f"f{number}": "" for number in range(3)}}), where="x")
    monkeypatch.setattr(archive, "MAX_ARCHIVE", 10)
    with pytest.raises(ChartError, match="10 at most"):
        archive.unpack(chart(), where="x")


def test_a_bomb_is_not_inflated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_TOTAL", 1 << 20)
    bomb = gzip.compress(b"\0" * (64 << 20))
    assert len(bomb) < archive.MAX_ARCHIVE
    with pytest.raises(ChartError, match="grows beyond"):
        archive.unpack(bomb, where="x")


@pytest.mark.parametrize(
    "content",
    [b"", b"no gzip", chart()[:40], gzip.compress(b"no tar" * 200)],
    ids=["empty", "no-gzip", "cut-off", "no-tar"],
)
def test_what_is_no_archive_is_refused(content: bytes) -> None:
    with pytest.raises(ChartError):
        archive.unpack(content, where="x")


def test_a_folder_that_is_no_chart_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ChartError, match="it is no chart"):
        read(tmp_path)


def test_a_folder_that_contains_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "Chart.yaml").write_text(CHART["Chart.yaml"])
    (tmp_path / "again").symlink_to(tmp_path)
    with pytest.raises(ChartError, match="nested too deep"):
        read(tmp_path)


def test_a_folder_of_any_size_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "Chart.yaml").write_text(CHART["Chart.yaml"])
    (tmp_path / "more").write_text("x" * 100)
    monkeypatch.setattr(folder, "MAX_TOTAL", 100)
    with pytest.raises(ChartError, match="too big for a chart"):
        read(tmp_path)
    (tmp_path / ".helmignore").write_text("more\n")
    assert set(read(tmp_path)) == {"Chart.yaml", ".helmignore"}
    monkeypatch.setattr(folder, "MAX_FILES", 1)
    with pytest.raises(ChartError, match="1 files at most"):
        read(tmp_path)


def nested(levels: int) -> dict[str, bytes]:
    content = packed(CHART)
    for _ in range(levels):
        content = packed({**CHART, "charts/web.tgz": content})
    return archive.unpack(content, where="x")


def test_charts_inside_charts_have_an_end() -> None:
    assert parse(nested(10)).subcharts
    with pytest.raises(ChartError, match="nested deeper than 10"):
        parse(nested(11))


def test_archives_inside_a_chart_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = packed({**CHART, "big": "x" * 1000})
    files = {"Chart.yaml": CHART["Chart.yaml"].encode(), **{f"charts/{name}.tgz": inner for name in "abcde"}}
    assert len(parse(files).subcharts) == 5
    monkeypatch.setattr(archive, "MAX_TOTAL", 4000)
    with pytest.raises(ChartError, match="grow beyond 4000 bytes"):
        parse(files)
