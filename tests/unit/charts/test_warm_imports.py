"""What another process imports for add-ons whose charts and results are in the cache: no renderer, no downloads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.charts import packed

_CODE = """
import sys
from pathlib import Path
from talosmith import load
from talosmith.addon_sources import read_sources
from talosmith.desired.addons import desired_addons
from talosmith.desired.bundle import Bundle
from talosmith.desired.secrets_file import Secrets
folder = Path(sys.argv[1])
cluster = load(folder)
found, problems = desired_addons(cluster, read_sources(cluster, folder, offline=True), Secrets(Bundle.generate()))
assert not problems, problems
assert found["web"].objects
print(*sys.modules)
"""
LATER = {
    "http.client",
    "jsonschema",
    "talosmith.charts.pulling",
    "talosmith.helm.binary",
    "talosmith.helm.download",
    "talosmith.helm.functions",
    "talosmith.helm.renderer",
    "talosmith.kustomize",
}
_INVENTORY = """\
cluster_name: warm
talos_version: v1.13.9
kubernetes_version: v1.36.3
lab: {}
controlplane: 1
addons: {web: {chart: ./web.tgz}}
"""
_CHART = {
    "Chart.yaml": "{apiVersion: v2, name: web, version: 1.0.0}",
    "templates/one.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n",
}


@pytest.mark.slow
def test_add_ons_from_the_cache_import_little(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(_INVENTORY)
    (tmp_path / "web.tgz").write_bytes(packed(_CHART))
    imported = [
        subprocess.run(
            [sys.executable, "-c", _CODE, tmp_path],
            env=os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for _ in ("cold", "warm")
    ]
    assert "talosmith.helm.renderer" in imported[0]
    assert not LATER & {*imported[1]}
