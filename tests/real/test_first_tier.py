"""`make test` needs nothing but Python: no root, no peers, no cache. Its fast part is run like that."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
# In a user namespace without a mapping nobody is root, whoever started it.
NOT_ROOT = ("unshare", "--user")


def test_the_first_tier_runs_without_root_and_without_a_cache(tmp_path: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG")}
    alone = ("--ignore=tests/real", "--ignore=tests/contract", "-m", "not real and not slow")
    words = ("-n", "2", "-q", "-p", "no:cacheprovider", f"--basetemp={tmp_path / 'tests'}", *alone)
    tier = {"TALOSMITH_NO_SKIPS": "1", "TALOSMITH_PYTHON_ALONE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(
        [*NOT_ROOT, sys.executable, "-m", "pytest", *words],
        cwd=ROOT,
        env={**kept, **tier, "HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    said = ran.stdout + ran.stderr
    assert ran.returncode == 0, said[-5000:]
    passed = re.search(r"(\d+) passed", said)
    assert passed and int(passed[1]) > 3000 and "skipped" not in said, said[-500:]
