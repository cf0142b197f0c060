"""The real tools that tests and benchmarks compare talosmith with.

They are built once from their Go modules, at pinned versions, into a cache outside the repository
(`TALOSMITH_PEERS`, or `talosmith/peers` in the user's cache folder). `python -m tools.peers` builds what is missing.
"""

from tools.peers.build import PeerUnavailable, build, built, find
from tools.peers.recipes import RECIPES, Recipe

__all__ = ["RECIPES", "PeerUnavailable", "Recipe", "build", "built", "find"]
