"""Every defect in the ledger comes back when its fix is taken out, and the test that is kept for it notices.

The fix is taken out of a copy of the sources, and the test is run on that copy. A ledger that only names tests would
say nothing about whether they can still fail.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml

pytestmark = [pytest.mark.slow, pytest.mark.real]  # each test is run a second time, some need libvirt's library

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src"
PATIENCE = 600  # seconds; each takes two
FAILED = pytest.ExitCode.TESTS_FAILED


@dataclass(frozen=True)
class Defect:
    what: str
    file: str
    mended: str
    broken: str
    test: str

    def put_back(self, sources: Path) -> None:
        file = sources / self.file
        text = file.read_text(encoding="utf-8")
        assert text.count(self.mended) == 1, f"{self.file} no longer has, exactly once: {self.mended!r}"
        file.write_text(text.replace(self.mended, self.broken), encoding="utf-8")


LEDGER = [
    Defect(**one) for one in yaml.safe_load((Path(__file__).parent / "ledger.yaml").read_text(encoding="utf-8"))
]


@pytest.fixture
def copy() -> Iterator[Path]:
    """In a folder with a short name: tests in it may make sockets, whose paths must not be long."""
    with TemporaryDirectory(prefix="defect-", ignore_cleanup_errors=True) as folder:
        sources = Path(folder) / "src"
        shutil.copytree(SOURCES, sources, ignore=shutil.ignore_patterns("__pycache__"))
        yield sources


def run(sources: Path, *tests: str) -> tuple[int, str]:
    """The tests, on that copy of the packages and not on those that are installed."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    words = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--strict-markers")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, f"--basetemp={sources.parent / 'tests'}", *tests],
        cwd=ROOT,
        env={**ours, "PYTHONPATH": str(sources), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_as_it_is_all_of_them_pass(copy: Path) -> None:
    code, said = run(copy, *dict.fromkeys(defect.test for defect in LEDGER))
    assert code == pytest.ExitCode.OK, said


@pytest.mark.parametrize("defect", LEDGER, ids=lambda defect: defect.what.replace(" ", "-"))
def test_without_its_fix_its_test_fails(defect: Defect, copy: Path) -> None:
    defect.put_back(copy)
    code, said = run(copy, defect.test)
    assert code == FAILED and f"FAILED {defect.test}" in said, said
