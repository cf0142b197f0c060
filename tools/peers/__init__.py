"""The real tools that tests and benchmarks compare talosmith with.

They are built once from their Go modules, at pinned versions, into a cache outside the repository
(`TALOSMITH_PEERS`, or `talosmith/peers` in the user's cache folder). `python -m tools.peers` builds what is missing.
"""

from tools.peers.build import build, built, find
from tools.peers.recipe import PeerUnavailable, Recipe
from tools.peers.recipes import PARTS, RECIPES

__all__ = ["PARTS", "RECIPES", "PeerUnavailable", "Recipe", "build", "built", "find"]
