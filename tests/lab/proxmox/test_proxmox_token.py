"""A token that expires in the middle of a run: the run stops and says so, and goes on with a new token."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.lab.proxmox.outcomes_proxmox import converged, destroyed
from tests.lab.proxmox.sites import ISO, Computer
from tests.lab.up.places import UP

pytestmark = [pytest.mark.slow, pytest.mark.real]  # real for its length alone

CALLS = (0, 12, 24, 40)  # a run of these examples makes some 60
BLOCKED = 6


@pytest.mark.parametrize("example", ["proxmox", "proxmox-inventory"])
def test_a_token_that_expires_in_the_middle(computers: Callable[..., Computer], example: str) -> None:
    def scenario(calls: int) -> None:
        computer = computers(example)
        computer.boots_from(ISO if example == "proxmox" else "talos.raw")
        computer.site.world.faults.expire_token(computer.token[0], calls)
        ended = computer.run(*UP)
        assert "Traceback" not in ended.said, ended.said
        assert "Proxmox VE does not accept the API token" in ended.said, ended.said
        if ended.code == BLOCKED:  # before anything was done
            assert "nothing was changed" in ended.said and "talosmith doctor" in ended.said
            assert "pveum user token list" in computer.must("doctor", code=1)
        else:
            assert ended.code == 1 and "pveum user token list" in ended.said, ended.said
        assert "retrying" not in ended.said, ended.said
        computer.use_token(computer.site.world.add_token("root@pam", f"new{calls}", privsep=False))
        computer.must(*UP)
        converged(computer)
        computer.must(*computer.destroying)
        destroyed(computer)

    with ThreadPoolExecutor(len(CALLS)) as pool:
        for done in [pool.submit(scenario, calls) for calls in CALLS]:
            done.result()
