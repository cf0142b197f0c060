"""talosmith brings up and keeps Talos Linux Kubernetes clusters from one inventory.

This is the library's front door; `talosmith.session` plans and runs. Names are looked up when they are first used,
so that `talosmith --version` does not pay for what it does not need.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from talosmith.inventory import check, load
    from talosmith.model import Cluster, Node

__version__ = "0.1.0"
__all__ = ["Cluster", "Node", "__version__", "check", "load"]

_HOME = {"check": "inventory", "load": "inventory", "Cluster": "model", "Node": "model"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'talosmith' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"talosmith.{_HOME[name]}"), name)
