"""The real tools that tests and benchmarks compare talosmith with.

They are built once from their Go modules, at pinned versions, into a cache outside the repository
(`TALOSMITH_PEERS`, or `talosmith/peers` in the user's cache folder). `python -m tools.peers` builds what is missing,
but for those that only a bench needs: these it builds when they are named.
"""

from tools.peers.build import build, built, find
from tools.peers.recipe import PeerUnavailable, Recipe
from tools.peers.recipes import ON_DEMAND, PEERS, RECIPES

__all__ = ["ON_DEMAND", "PEERS", "RECIPES", "PeerUnavailable", "Recipe", "build", "built", "find"]
