"""Whether two configs mean the same: our verdict beside that of Talos' own library, section by section."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from talosmith.desired.config.emit import emit
from talosmith.desired.config.load import load_values
from talosmith.desired.config.meaning import Meaning, meaning
from talosmith.desired.config.schema.documents import Document
from tests.real.config.meaning_oracle import ACCESSORS, read
from tests.unit.config.config_pairs import PAIRS, Pair


def documents(machine: dict[str, Any], cluster: dict[str, Any], *others: dict[str, Any]) -> list[Document]:
    main = {"version": "v1alpha1", "machine": {"type": "controlplane", **machine}, "cluster": cluster}
    return load_values([main, *others], "a test")


@pytest.fixture(scope="module")
def forms(peer: Callable[[str], Path]) -> list[tuple[str, Meaning, dict[str, Any]]]:
    """Each pair's old and new form, read by us and by the library; and a config that says nothing."""
    made = [("nothing", documents({}, {}))]
    for pair in PAIRS:
        made.append((f"{pair}, old", documents(pair.machine, pair.cluster)))
        made.append((f"{pair}, new", documents({}, {}, *pair.documents)))
    theirs = read(peer("talos-machinery"), [emit(config) for _, config in made])
    return [(name, meaning(config), answer) for (name, config), answer in zip(made, theirs, strict=True)]


@pytest.mark.parametrize("pair", PAIRS, ids=str)
def test_the_library_finds_both_forms_equal(pair: Pair, forms: list[tuple[str, Meaning, dict[str, Any]]]) -> None:
    found = {name: answer for name, _, answer in forms}
    assert found[f"{pair}, old"][pair.section] == found[f"{pair}, new"][pair.section]


@pytest.mark.parametrize("section", [*ACCESSORS, "authorizers"])
def test_our_verdict_is_the_librarys(section: str, forms: list[tuple[str, Meaning, dict[str, Any]]]) -> None:
    """Every config with every other: where the library reads the same out of both, so do we, and only there."""
    disagreed = []
    verdicts = set()
    for (one, ours, theirs), (other, ours_too, theirs_too) in itertools.combinations(forms, 2):
        same = theirs[section] == theirs_too[section]
        verdicts.add(same)
        if (ours.section(section) == ours_too.section(section)) != same:
            disagreed.append(
                (one, other, "the library finds them equal" if same else "the library finds a difference")
            )
    assert disagreed == []
    if section in {pair.section for pair in PAIRS}:
        assert verdicts == {True, False}


def mixed(chance: random.Random) -> list[Document]:
    """Many settings at once, each in one of its forms; no document and no section twice."""
    machine: dict[str, Any] = {}
    cluster: dict[str, Any] = {}
    others: dict[tuple[str, str], dict[str, Any]] = {}
    for pair in chance.sample(PAIRS, len(PAIRS)):
        identities = [(one["kind"], one.get("name", "")) for one in pair.documents]
        if chance.random() < 0.5 and not any(key in others for key in identities):
            others |= dict(zip(identities, pair.documents, strict=True))
        elif not (pair.machine.keys() & machine.keys() or pair.cluster.keys() & cluster.keys()):
            machine |= pair.machine
            cluster |= pair.cluster
    return documents(machine, cluster, *others.values())


def test_our_verdict_on_mixed_forms_is_the_librarys(peer: Callable[[str], Path]) -> None:
    """v1alpha1 and documents beside each other: which of them counts, and what is merged."""
    configs = [mixed(random.Random(seed)) for seed in range(40)]  # noqa: S311 (no secret is made of it)
    theirs = read(peer("talos-machinery"), [emit(config) for config in configs])
    ours = [meaning(config) for config in configs]
    disagreed = [
        (one, other, section)
        for one, other in itertools.combinations(range(len(configs)), 2)
        for section in (*ACCESSORS, "authorizers")
        if (ours[one].section(section) == ours[other].section(section))
        != (theirs[one][section] == theirs[other][section])
    ]
    assert disagreed == []
