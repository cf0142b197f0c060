"""The real tools are the versions that everything here is compared with."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.peers import RECIPES, Recipe


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=lambda recipe: recipe.name)
def test_the_peer_answers_with_its_version(recipe: Recipe, peer: Callable[[str], Path]) -> None:
    first = next(iter(recipe.binaries))
    answer = subprocess.run([peer(first), *recipe.check], capture_output=True, text=True, check=False)
    assert recipe.says in answer.stdout + answer.stderr
