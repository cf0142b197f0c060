"""charts.lock: the same charts give the same text; what is wrong with one is told with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from talosmith.charts import ChartContent, Lock
from talosmith.charts.lock import Locked
from talosmith.errors import InventoryError
from talosmith.model.cluster import ChartPin

ONE, TWO = "sha256:" + "1" * 64, "sha256:" + "2" * 64
OCI = ChartPin("oci://ghcr.io/org/web", "1.20")
HTTP = ChartPin("https://charts.example.org/it's", "~1.2", "cert-manager")

TEXT = f"""\
# Written by talosmith: the charts of this cluster's add-ons, each with the digest of its archive.
# Commit this file. A chart whose content differs from it is refused.
charts:
  a:
    source: 'https://charts.example.org/it''s'
    name: cert-manager
    wanted: '~1.2'
    version: '1.2.9'
    digest: {TWO}
  b:
    source: oci://ghcr.io/org/web
    version: '1.20'
    digest: {ONE}
"""


def contents() -> dict[str, ChartContent]:
    return {
        "b": ChartContent(OCI, "1.20", ONE),
        "local": ChartContent(ChartPin("/charts/own"), "3", ONE),
        "a": ChartContent(HTTP, "1.2.9", TWO),
    }


def test_the_text_is_the_same_whatever_the_order(tmp_path: Path) -> None:
    lock = Lock().with_(contents())
    assert lock.text() == TEXT
    assert Lock().with_(dict(reversed(contents().items()))).text() == TEXT


def test_what_was_written_is_read(tmp_path: Path) -> None:
    lock = Lock().with_(contents())
    assert lock.write(tmp_path)
    assert not lock.write(tmp_path)
    assert Lock.read(tmp_path) == lock
    assert Lock.read(tmp_path).get("a", HTTP) == Locked(HTTP.source, "cert-manager", "~1.2", "1.2.9", TWO)
    assert (tmp_path / "charts.lock").stat().st_mode & 0o777 == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["charts.lock"]


def test_add_ons_that_are_gone_are_dropped(tmp_path: Path) -> None:
    Lock().with_(contents()).write(tmp_path)
    fewer = Lock.read(tmp_path).with_({"a": contents()["a"]})
    assert fewer.write(tmp_path)
    assert list(Lock.read(tmp_path).charts) == ["a"]
    assert Lock.read(tmp_path).with_({}).write(tmp_path)
    assert Lock.read(tmp_path) == Lock()


def test_no_file_is_an_empty_lock_and_stays_none(tmp_path: Path) -> None:
    assert Lock.read(tmp_path) == Lock()
    assert not Lock().write(tmp_path)
    assert not (tmp_path / "charts.lock").exists()


@pytest.mark.parametrize("other", [ChartPin(OCI.source, "1.21"), ChartPin(OCI.source, "1.20", "x"), HTTP])
def test_an_entry_counts_for_its_pin_alone(other: ChartPin) -> None:
    lock = Lock().with_(contents())
    assert lock.get("b", OCI) is not None
    assert lock.get("b", other) is None
    assert lock.get("missing", OCI) is None


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("charts: ]", 1, "is no YAML"),
        ("x: 1\n", 1, "has no `charts`"),
        ("charts:\n  - a\n", 2, "a table is expected"),
        ("charts:\n  a: text\n", 2, "a table is expected"),
        (TEXT.replace("digest: " + TWO, "digest: sha256:12"), 9, "`sha256:12` is no digest"),
        (TEXT.replace("    digest: " + TWO + "\n", ""), 4, "`digest` is missing"),
        (TEXT.replace("wanted", "wnated"), 7, "`wnated` is not a key"),
        (TEXT.replace("  b:", "  a:"), 10, "each once"),
        ("<<<<<<< ours\n" + TEXT, 1, "merge conflict"),
        (TEXT + "=======\n", 14, "merge conflict"),
        ("charts: &a\n  b: *a\n", 2, "inside"),
    ],
)
def test_a_lock_that_cannot_be_meant_is_told_with_file_and_line(
    text: str, line: int, said: str, tmp_path: Path
) -> None:
    (tmp_path / "charts.lock").write_text(text)
    with pytest.raises(InventoryError, match=said) as caught:
        Lock.read(tmp_path)
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == (str(tmp_path / "charts.lock"), line)
    assert "talosmith addons pull" in problem.fix


@pytest.mark.parametrize("content", [b"charts: \xff", b"#" * (2 << 20)])
def test_a_lock_that_is_no_text_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "charts.lock").write_bytes(content)
    with pytest.raises(InventoryError):
        Lock.read(tmp_path)


@pytest.mark.parametrize("text", ["", "# nothing\n", "charts:\n", "charts: {}\n"])
def test_an_empty_lock_is_one(text: str, tmp_path: Path) -> None:
    (tmp_path / "charts.lock").write_text(text)
    assert Lock.read(tmp_path) == Lock()
