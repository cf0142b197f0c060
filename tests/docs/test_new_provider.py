"""What the page on new providers says is so: what the smallest one takes, where it is named, the protocols."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from talosmith.model.machines import Machine, MachineSpec, Owner
from talosmith.model.secret import Secret
from talosmith.providers import base
from talosmith.providers.base import NO_HOST_CALLS, Finding, Provider
from tests.docs.pages import ROOT
from tests.machine_specs import machine_spec
from tests.provider_contract import ProviderContract, There

PAGE = (ROOT / "docs/howto/new-provider.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src/talosmith"
SMALLEST = "metal"
NAMED = re.compile(r'\b(Metal|MetalLayout|metal_provider|_metal)\b|(?<!platform = )"metal"')
# Where the word is a mode or a platform of Talos, not the provider.
OF_TALOS = ("desired", "steps/install_disk.py", "inventory/importers", "cli/lab_machine.py")


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def counted(place: Path) -> int:
    """A folder or a file of the provider's own as a whole; of others the lines that name it, and its section."""
    if place.is_dir():
        return sum(len(lines(file)) for file in place.glob("*.py"))
    if place.stem == SMALLEST:
        return len(lines(place))
    named = {number for number, line in enumerate(lines(place), 1) if NAMED.search(line)}
    for one in ast.parse(place.read_text(encoding="utf-8")).body:
        if isinstance(one, ast.ClassDef | ast.FunctionDef) and NAMED.fullmatch(one.name):
            named |= {*range(one.lineno, (one.end_lineno or one.lineno) + 1)}
    return len(named)


def rows() -> dict[tuple[Path, ...], int]:
    found = re.findall(r"^\| (`src/[^|]+) \|[^|]+\| (\d+) \|$", PAGE, re.MULTILINE)
    return {tuple(ROOT / name for name in re.findall("`([^`]+)`", names)): int(count) for names, count in found}


def test_the_smallest_provider_has_as_many_lines_as_the_page_says() -> None:
    assert {places: sum(map(counted, places)) for places in rows()} == rows()
    assert f"That is {sum(rows().values())} lines." in PAGE
    folders = [one for one in (SOURCE / "providers").iterdir() if (one / "provider.py").is_file()]
    assert min(folders, key=counted).name == SMALLEST


def test_no_other_file_names_it() -> None:
    listed = {place for places in rows() for place in places}
    for file in SOURCE.rglob("*.py"):
        if not {file, *file.parents} & listed and not str(file.relative_to(SOURCE)).startswith(OF_TALOS):
            assert not [line for line in lines(file) if NAMED.search(line)], f"{file} names the provider {SMALLEST}"


def test_the_page_has_every_protocol_with_its_methods() -> None:
    protocols = {
        name: [one for one, _ in inspect.getmembers(kind, inspect.isfunction) if not one.startswith("_")]
        for name, kind in vars(base).items()
        if getattr(kind, "_is_protocol", False) and kind.__module__ == base.__name__ and name != "Provider"
    }
    table = re.findall(r"^\| `(\w+)` \| ((?:`\w+`(?:, )?)+) \|", PAGE, re.MULTILINE)
    assert {name: sorted(re.findall(r"`(\w+)`", methods)) for name, methods in table} == protocols


def shelf_provider() -> Any:
    """The class on the page."""
    (code,) = re.findall(r"^```python\n(class .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    known: dict[str, Any] = {
        "NO_HOST_CALLS": NO_HOST_CALLS, "Finding": Finding, "Machine": Machine, "MachineSpec": MachineSpec,
        "Owner": Owner, "Secret": Secret, "Sequence": Sequence, "replace": replace,
    }  # fmt: skip
    exec(code, known)  # noqa: S102 # of our own page
    return known["ShelfProvider"]


class Shelf:
    """The harness of the contract, with a machine of another cluster beside ours."""

    owner = Owner("dev", "0123456789abcdef")

    def __init__(self) -> None:
        other = Owner("dev", "fedcba9876543210")
        self.other = Machine(id="other/w-1", name="w-1", role="worker", tags=other.tags("w-1", "worker"))
        self.machines = {self.other.id: self.other}

    def provider(self) -> Provider:
        made: Provider = shelf_provider()(self.machines, self.owner)
        return made

    def spec(self, name: str, role: Any = "worker") -> MachineSpec:
        return machine_spec(name, role, "10.0.0.9")

    async def there(self) -> list[There]:
        return [There(one.id, one.name, one.tags, one.power) for one in self.machines.values()]


class TestThePagesProvider(ProviderContract):
    @pytest.fixture
    async def harness(self) -> Shelf:
        made = Shelf()
        await made.provider().create(made.spec("cp-1", "controlplane"))
        return made

    async def test_what_others_have_is_not_touched(self, harness: Shelf) -> None:
        provider = harness.provider()
        assert (await provider.create(harness.spec("w-1"))).id != harness.other.id
        await provider.destroy(harness.other)
        assert harness.other in harness.machines.values()
        for machine in await provider.find():
            await provider.destroy(machine)
        assert [one.id for one in await harness.there()] == [harness.other.id]
