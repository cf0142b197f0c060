"""The matrix of versions: it is complete, and every upgrade path goes over pairs that Talos supports."""

from __future__ import annotations

from itertools import pairwise, product

import pytest

from talosmith.model.known_bad import KNOWN_BAD, KnownBad, known_bad
from talosmith.model.upgrade_path import upgrade_path
from talosmith.model.versions import (
    KUBERNETES_PATCHES,
    NEWEST_TALOS,
    RECOMMENDED,
    TALOS_LINES,
    Version,
)

LINES = sorted(TALOS_LINES)


def test_lines_follow_each_other_without_a_gap() -> None:
    assert all(newer == (older[0], older[1] + 1) for older, newer in pairwise(LINES))
    supported = {minor for line in TALOS_LINES.values() for minor in (line.oldest_kubernetes, line.newest_kubernetes)}
    assert sorted(KUBERNETES_PATCHES) == list(range(min(supported), max(supported) + 1))


@pytest.mark.parametrize("number", LINES, ids=lambda number: f"1.{number[1]}")
def test_a_line_is_consistent(number: tuple[int, int]) -> None:
    line = TALOS_LINES[number]
    assert Version.parse(line.latest).line == number
    for version in map(Version.parse, (line.default_kubernetes, line.kubernetes)):
        assert version.line == (1, line.newest_kubernetes)
        assert version <= Version.parse(KUBERNETES_PATCHES[line.newest_kubernetes])
    assert Version.parse(line.kubernetes) >= Version.parse(line.default_kubernetes)
    assert line.oldest_host < number <= line.newest_host


def test_what_is_recommended_and_newest_is_not_known_to_be_bad() -> None:
    for line in (RECOMMENDED, *TALOS_LINES.values()):
        assert not [
            one for one in known_bad(Version.parse(line.latest), Version.parse(line.kubernetes)) if one.refused
        ]
    for patch in KUBERNETES_PATCHES.values():
        assert not known_bad(Version.parse(RECOMMENDED.latest), Version.parse(patch))


PATHS = [
    ("v1.13.9", "v1.36.3", "talos v1.14.1, kubernetes v1.37.2"),
    # Kubernetes 1.31 does not run on Talos 1.14: it is raised before.
    ("v1.13.4", "v1.31.2", "talos v1.13.9, kubernetes v1.32.13, talos v1.14.1, kubernetes v1.33.13, "
     "kubernetes v1.34.12, kubernetes v1.35.8, kubernetes v1.36.5, kubernetes v1.37.2"),
    ("v1.14.0-rc.1", "v1.37.0", "talos v1.14.1, kubernetes v1.37.2"),
    ("v1.14.1", "v1.37.2", ""),
    ("v1.14.7", "v1.37.9", ""),
    ("v1.15.0", "v1.38.0", ""),
    ("v1.7.6", "v1.30.0", ""),
]  # fmt: skip


@pytest.mark.parametrize(("talos", "kubernetes", "expected"), PATHS)
def test_paths(talos: str, kubernetes: str, expected: str) -> None:
    path = upgrade_path(Version.parse(talos), Version.parse(kubernetes))
    assert ", ".join(f"{step.component} {step.version}" for step in path) == expected


def test_each_step_of_every_path_is_supported_by_talos_and_kubernetes() -> None:
    for number, patch in product(LINES, (0, 1)):
        line = TALOS_LINES[number]
        for minor in range(line.oldest_kubernetes, line.newest_kubernetes + 1):
            talos, kubernetes = Version(*number, patch), Version(1, minor, 0)
            for step in upgrade_path(talos, kubernetes):
                target = Version.parse(step.version)
                if step.component == "talos":
                    allowed = TALOS_LINES[target.line]
                    assert allowed.oldest_host <= talos.line <= target.line
                    assert target.minor - talos.minor <= 1 and target > talos
                    talos = target
                else:
                    assert target.minor - kubernetes.minor <= 1 and target > kubernetes
                    kubernetes = target
                assert TALOS_LINES[talos.line].supports(kubernetes)
            newest = TALOS_LINES[NEWEST_TALOS]
            assert (str(talos), str(kubernetes)) == (newest.latest, KUBERNETES_PATCHES[newest.newest_kubernetes])


def test_no_path_leaves_etcd_3_5_before_the_release_that_repairs_its_members() -> None:
    path = upgrade_path(Version.parse("v1.9.0"), Version.parse("v1.30.0"))
    steps = [step.version for step in path if step.component == "talos"]
    assert steps.index("v1.10.9") == steps.index("v1.11.6") - 1


@pytest.mark.parametrize("one", KNOWN_BAD, ids=lambda one: one.versions)
def test_known_bad_versions_have_a_source_and_a_range(one: KnownBad) -> None:
    first, last = Version.parse(one.first), Version.parse(one.last)
    assert first <= last and first in one and last in one
    assert Version(last.major, last.minor, last.patch + 1) not in one
    assert one.source.startswith("https://github.com/") and "/issues/" in one.source
    assert one.what and one.fix
