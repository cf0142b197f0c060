"""Privileges of the API token: the preflight prints the commands that grant what is missing, and nothing more."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from talosmith.errors import TalosmithError
from talosmith.model.secret import Secret
from talosmith.providers.base import Known
from talosmith.providers.proxmox.settings import Boot
from tests.machine_specs import with_settings
from tests.simulators.proxmox import Proxmox
from tests.simulators.proxmox.identities import Acl
from tests.unit.providers.proxmox.proxmox_findings import MACHINES, look, the_error
from tests.unit.providers.proxmox.proxmox_harness import ProxmoxHarness, proxmox
from tests.unit.providers.proxmox.proxmox_inventories import (
    KINDS,
    from_iso,
    from_linked_template,
    from_made_template,
    in_a_pool,
)

pytestmark = [pytest.mark.slow, pytest.mark.real]  # real for its length alone

CONFIG = [f"VM.Config.{what}" for what in ("CDROM", "CPU", "Disk", "HWType", "Memory", "Network", "Options")]


def pveum(world: Proxmox, fix: str) -> None:
    """Runs the commands of a fix, as root would on the host."""
    lines = [line for line in fix.splitlines() if line.startswith("pveum ")]
    assert lines
    for line in lines:
        assert any(_run(world, *shlex.split(command)[1:]) for command in line.split(" || ")), line


def _run(world: Proxmox, what: str, verb: str, name: str, *options: str) -> bool:
    given = dict(zip(options[::2], options[1::2], strict=True))
    if what == "role":
        privileges = frozenset(given["--privs"].split(","))
        assert privileges <= world.access.privileges, "Proxmox VE refuses privileges that it does not know"
        if (verb == "add") == (name in world.access.roles):
            return False
        kept = world.access.roles.get(name, frozenset()) if given.get("--append") == "1" else frozenset()
        world.access.roles[name] = kept | privileges
        return True
    assert (what, verb) == ("acl", "modify")
    who = given.get("--users") or given["--tokens"]
    assert who in world.access.users or who in world.access.tokens
    for role in given["--roles"].split(","):
        assert role in world.access.roles
        world.access.acls.append(Acl(name, who, role))  # beside the roles that the path has for them
    return True


async def whole_life(harness: ProxmoxHarness) -> None:
    """All that `up`, a resize and `destroy` call."""
    provider = harness.provider()
    for wanted in provider.resources():
        await provider.create_resource(wanted, Known(resources={}, machines={}))
    for spec in MACHINES:
        machine = await provider.create(spec, Secret("machine: {}"))
        larger = with_settings(spec, cpu=4, ram_mib=4096, disks_mib=(20480, 5120, 5120))
        machine = await provider.resize(machine, larger)
        assert (machine.cpu, machine.ram_mib, machine.disks_mib) == (4, 4096, (20480, 5120, 5120))
        assert await provider.forget_seed(machine)
        await provider.power(machine, on=False)
        await provider.power(machine, on=True)
    for machine in await provider.find():
        await provider.destroy(machine)
    for resource in reversed(await provider.find_resources()):
        await provider.delete_resource(resource)
    await provider.close()


@pytest.mark.parametrize("prepare", KINDS)
@pytest.mark.parametrize("user", ["root@pam", "talos@pve"])
async def test_a_token_without_privileges_gets_by_the_printed_commands_what_it_needs(
    tmp_path: Path, prepare: Callable[[ProxmoxHarness], None], user: str
) -> None:
    """The commands are tried out: with them, and nothing else, everything can be done that the machines ask for."""
    world = Proxmox(version="9.1.7" if user == "root@pam" else "8.4.5")
    name, _ = world.add_token(user, "smith")
    with proxmox(tmp_path, world, token="smith") as harness:
        prepare(harness)
        found = next(one for one in await look(harness) if one.check == "API token")
        assert found.level == "error" and "privilege separation" in found.cause and "no privileges" in found.cause
        assert name in found.evidence and f"--tokens '{name}'" in found.fix
        assert (f"--users {user}" in found.fix) == (user != "root@pam"), "a user who may anything needs no grant"
        pveum(world, found.fix)
        assert {one.level for one in await look(harness)} <= {"ok", "note"}
        await whole_life(harness)


async def test_no_privilege_is_asked_for_in_vain(tmp_path: Path) -> None:
    """Without any one of them something fails. Only to see what storages have, others are enough."""
    world = Proxmox()
    world.add_token("root@pam", "smith")
    with proxmox(tmp_path, world, token="smith") as harness:
        from_linked_template(harness)
        pveum(world, next(one for one in await look(harness) if one.check == "API token").fix)
        granted = {name: held for name, held in world.access.roles.items() if name.startswith("Talosmith")}
        assert sum(map(len, granted.values())) >= 15
        for role, held in granted.items():
            for one in sorted(held - {"Datastore.Audit"}):
                world.access.roles[role] = held - {one}
                with pytest.raises((TalosmithError, AssertionError)):
                    await whole_life(harness)
                world.access.roles[role] = held
                for vmid in [vmid for vmid in world.vms if vmid != 900]:
                    del world.vms[vmid]


async def test_missing_privileges_are_named_with_their_paths(tmp_path: Path) -> None:
    with proxmox(tmp_path, token="sep", options={"vlan": 20, "start_order": 1, "iso_storage": "second"}) as harness:
        found = next(one for one in await look(harness) if one.check == "API token")
    needs = [one.partition(" on ") for one in found.evidence.partition(" needs ")[2].split("; ")]
    named = {path: what.split(", ") for what, _, where in needs for path in where.split(", ")}
    vm = ["VM.Allocate", "VM.Audit", *CONFIG, "VM.PowerMgmt"]
    assert named == {
        "/": ["Sys.Modify"],
        "/sdn/zones/localnetwork/vmbr0/20": ["SDN.Use"],
        "/storage/local": ["Datastore.AllocateSpace", "Datastore.Audit"],
        "/storage/second": ["Datastore.Allocate", "Datastore.AllocateTemplate", "Datastore.Audit"],
        "/vms/2000": vm,
        "/vms/3000": vm,
    }


async def test_a_limited_token_hears_only_of_what_it_lacks(tmp_path: Path) -> None:
    """The token of the recording may create VMs, but neither start them nor upload seeds."""
    with proxmox(tmp_path, token="prov") as harness:
        found = await the_error(harness, "API token")
        assert "lacks" in found.cause and "separation" not in found.cause
        assert "VM.PowerMgmt on /vms/2000" in found.evidence
        assert "Datastore.Allocate, Datastore.AllocateTemplate on /storage/local" in found.evidence
        assert "VM.Audit" not in found.evidence and "SDN.Use" not in found.evidence
        pveum(harness.world, found.fix)
        await look(harness)
        await whole_life(harness)


async def test_granting_more_takes_nothing_away(tmp_path: Path) -> None:
    """Privileges on a path replace those from above, and a role that is changed is changed wherever it is used."""
    world = Proxmox()
    name, _ = world.add_token("talos@pve", "smith")
    for who in ("talos@pve", name):
        world.grant("/", who, "PVEAuditor")
    with proxmox(tmp_path, world, token="smith") as harness:
        found = await the_error(harness, "API token")
        assert "Datastore.Audit" not in found.evidence, "it has that from the root path"
        pveum(world, found.fix)
        assert {one.level for one in await look(harness)} == {"ok"}
        from_made_template(harness)  # now the inventory wants something else besides
        found = await the_error(harness, "API token")
        assert "VM.Clone on /vms" in found.evidence
        pveum(world, found.fix)
        assert {one.level for one in await look(harness)} == {"ok"}
        await whole_life(harness)


async def test_what_one_token_is_granted_is_not_taken_from_another(tmp_path: Path) -> None:
    """The roles have the same names for all; a cluster that needs less makes them no smaller."""
    world = Proxmox()
    world.add_token("root@pam", "more")
    world.add_token("root@pam", "less")
    with proxmox(tmp_path, world) as harness:
        for token, prepare in (("more", from_made_template), ("less", from_iso)):
            harness.token, harness.boot = token, Boot("iso", volume="local:iso/talos.iso")
            prepare(harness)
            pveum(world, next(one for one in await look(harness) if one.check == "API token").fix)
        harness.token = "more"
        from_made_template(harness)
        assert next(one for one in await look(harness) if one.check == "API token").level == "ok"


async def test_a_vmid_of_a_vm_that_the_token_may_not_see(tmp_path: Path) -> None:
    """With privileges on a pool only, the VMs outside of it are not listed; their VMIDs are taken all the same."""
    world = Proxmox()
    world.add_token("root@pam", "smith")
    with proxmox(tmp_path, world, token="smith") as harness:
        in_a_pool(harness)
        pveum(world, next(one for one in await look(harness) if one.check == "API token").fix)
        world.add_vm(2000, "secret-project")
        found = await the_error(harness, "VMID 2000")
    assert "may not see" in found.evidence and "secret-project" not in repr(found)
