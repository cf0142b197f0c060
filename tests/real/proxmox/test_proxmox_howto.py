"""The how-to of Proxmox VE, followed to the letter: each command typed in order, with the answers of a person.

The host is the simulator with nodes of the lab behind its VMs; kubectl is real. Of the examples only what a reader
changes too is changed: addresses, the fingerprint, and an ISO and an image of this computer instead of the image
factory's, which cannot be reached from here.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.docs.pages import Reader, commands
from tests.lab.proxmox.conftest import computers, kit, labs  # noqa: F401  # fixtures
from tests.lab.proxmox.sites import Computer
from tests.lab.proxmox.test_proxmox_examples import run_on_host

PAGE = "docs/howto/proxmox.md"


def test_the_page(computers: Callable[..., Computer], tmp_path: Path, peer: Callable[[str], Path]) -> None:  # noqa: F811
    computer = computers()
    site = computer.site
    computer.boots_from("talos.iso")
    name, secret = site.world.add_token("talosmith@pve", "cluster")
    computer.change("cluster.yaml", (site.token[0], name), ("env:PROXMOX_TOKEN #", "sops:proxmox.token #"))
    cloning = computers("proxmox-inventory", at=site)
    cloning.boots_from("talos.raw")
    here = tmp_path / "here"
    for one in (computer, cloning):
        shutil.copytree(one.folder, here / "examples" / one.example, ignore=shutil.ignore_patterns("*.sops.yaml"))
    exported = {key: value for key, value in cloning.access.items() if key.startswith("PROXMOX_VE")}
    reader = Reader(here, tools=(peer("kubectl").parent,), exported=exported)

    answers = {"talosmith up": "y\n", "talosmith destroy": "talos\n"}
    (here / "token").write_text(f"{secret}\n")  # as from a password manager
    shown = {}
    for line in commands(PAGE):
        answer = next((text for start, text in answers.items() if line.startswith(start)), "")
        typed = f"cat token | {line}" if line.startswith("talosmith secrets set") else line
        code, said = reader.types(typed, answer)
        if "the token has no privileges" in said:
            assert code == 1
            run_on_host(computer, said)
            code, said = reader.types(line)
        assert code == 0, f"$ {line}\n{said}"
        assert secret not in said
        shown[line] = said
    (nodes,) = [said for line, said in shown.items() if line.startswith("kubectl")]
    assert len(re.findall(r"^talos-\S+ +Ready", nodes, re.MULTILINE)) == 3, nodes
    (listed,) = [said for line, said in shown.items() if "template list" in line]
    assert "talos.raw-" in listed and "pve1" in listed
    assert not site.ours() and not site.new_volumes("-seed-"), "destroy has left something"
    assert len([vm for vm in site.world.vms.values() if vm.template]) == 1, "the template stays"
