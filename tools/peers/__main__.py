"""`python -m tools.peers [NAME …]`: build what is missing, one line each, and say how long it took."""

from __future__ import annotations

import sys
import time

from tools.peers import ON_DEMAND, PEERS, PeerUnavailable, build, built, libvirt_recipes
from tools.peers.helm_recipes import CHARTS, fetch_charts


def main(names: list[str]) -> int:
    failed = 0
    for recipe in [(PEERS | ON_DEMAND)[name] for name in names] or PEERS.values():
        if built(recipe):
            print(f"{recipe.name} {recipe.version}: there", flush=True)
            continue
        if recipe.linux_only and sys.platform != "linux":
            print(f"{recipe.name} {recipe.version}: left out, it is for Linux alone", flush=True)
            continue
        print(f"{recipe.name} {recipe.version}: building …", flush=True)
        started = time.monotonic()
        try:
            build(recipe)
        except PeerUnavailable as problem:
            failed += 1
            print(f"{recipe.name} {recipe.version}: FAILED\n{problem}", flush=True)
        else:
            print(f"{recipe.name} {recipe.version}: built in {time.monotonic() - started:.0f} s", flush=True)
    if not names:
        failed += _charts() + _libvirt()
    return 1 if failed else 0


def _charts() -> int:
    """The charts that Helm's renderings are compared on; how many modules could not be had."""
    failed = 0
    for module in CHARTS:
        try:
            fetch_charts(module)
        except PeerUnavailable as problem:
            failed += 1
            print(f"charts of {module.module} {module.version}: FAILED\n{problem}", flush=True)
    print(f"charts of {len(CHARTS) - failed} modules: there", flush=True)
    return failed


def _libvirt() -> int:
    """Debian's packages, and the kernel of a small guest; 1 if they could not be had."""
    if sys.platform != "linux":
        print("libvirt: left out, it is for Linux alone", flush=True)
        return 0
    try:
        libvirt_recipes.prepare()
    except PeerUnavailable as problem:
        print(f"libvirt: FAILED\n{problem}", flush=True)
        return 1
    print("libvirt, QEMU and the guest's kernel: there", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
