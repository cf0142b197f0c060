"""talosmith builds the objects that the real kustomize builds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from talosmith.kustomize import load_manifests
from tests.real.kustomize.kustomize_peer import Case, by_kustomize, cases, named


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_the_objects_are_equal(case: Case, peer: Callable[[str], Path], tmp_path: Path) -> None:
    folder = case.write(tmp_path)
    expected = by_kustomize(peer("kustomize"), folder)
    manifests = load_manifests(folder, root=tmp_path)
    assert manifests.note == ""
    got = named(manifests.objects)
    assert sorted(got) == sorted(expected)
    for name, content in expected.items():
        assert got[name] == content, name
