"""The warm parent of talosmith processes for this folder: it has also imported what that provider needs."""

from __future__ import annotations

import sys
from functools import partial

from tests.lab.up import warm

_NEEDED = ("pycdlib",)


start = partial(warm.start, module="tests.lab.proxmox.warm_proxmox")


def _nodes_are_of_the_lab() -> None:
    """What takes real nodes seconds takes these milliseconds, and nobody need wait longer."""
    from talosmith.providers.proxmox import ProxmoxProvider

    ProxmoxProvider.simulated = True


if __name__ == "__main__":
    warm._NEEDED = (*warm._NEEDED, *_NEEDED)
    _nodes_are_of_the_lab()
    warm.serve(sys.argv[1])
