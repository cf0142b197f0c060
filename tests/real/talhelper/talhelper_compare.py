"""Runs the real talhelper on a talconfig, imports the same talconfig, and finds where the two configs differ."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from talosmith.cli.app import run
from talosmith.desired.bundle import Bundle
from talosmith.desired.config.emit import canonical
from talosmith.desired.config.load import load as load_config
from talosmith.desired.config.schema.documents import Document, identity
from talosmith.desired.machine import MachineConfigs
from talosmith.inventory import load

HERE = Path(__file__).parent
CASES = ("homelab", "mixed", "single", "documents", "vlan", "vlan-old")
NONE = "none"


@dataclass(frozen=True)
class Difference:
    path: str
    ours: str  # as JSON, or `none`
    theirs: str

    def is_explained_by(self, known: Mapping[str, Mapping[str, str]]) -> bool:
        entry = known.get(self.path)
        if (
            entry is None
            or not re.fullmatch(entry["ours"], self.ours)
            or not re.fullmatch(entry["theirs"], self.theirs)
        ):
            return False
        return "same" not in entry or re.findall(entry["same"], self.ours) == re.findall(entry["same"], self.theirs)


@dataclass(frozen=True)
class ComparedNode:
    name: str
    ours: Path
    theirs: Path
    differences: Sequence[Difference]


@dataclass(frozen=True)
class Tools:
    talosctl: Path
    talhelper: Path
    folder: Path
    secrets: Path
    bundle: Bundle = field(repr=False)

    @classmethod
    def make(cls, talosctl: Path, talhelper: Path, folder: Path) -> Tools:
        secrets = folder / "talsecret.yaml"
        subprocess.run([talosctl, "gen", "secrets", "-o", secrets], check=True, capture_output=True)
        bundle = Bundle.from_mapping(yaml.safe_load(secrets.read_text()))
        return cls(talosctl, talhelper, folder, secrets, bundle)

    def compare(self, case: str) -> list[ComparedNode]:
        """A talconfig of this folder."""
        shutil.copytree(HERE / case, self.folder / case)
        return self.compare_in(self.folder / case)

    def compare_in(self, work: Path) -> list[ComparedNode]:
        self._talhelper(work)
        import_talconfig(work / "talconfig.yaml", work / "imported")
        return self.rendered(work, work / "imported")

    def rendered(self, work: Path, inventory: Path) -> list[ComparedNode]:
        """The nodes of an inventory beside talhelper's configs of them."""
        cluster = load(inventory)
        configs = MachineConfigs(cluster, self.bundle)
        compared = []
        for node in cluster.nodes:
            rendered = configs.render(node)
            (theirs,) = [path for path in (work / "out").glob("*.yaml") if re.search(rf"-{node.name}\b", path.stem)]
            ours = work / f"ours-{node.name}.yaml"
            ours.write_text(rendered.text)
            found = differences(load_config(ours.read_text()), load_config(theirs.read_text()))
            compared.append(ComparedNode(node.name, ours, theirs, tuple(found)))
        return compared

    def _talhelper(self, work: Path) -> None:
        flags = ["--offline-mode", "--no-gitignore", "-s", str(self.secrets), "-o", str(work / "out")]
        environment = {"HOME": str(work), "PATH": os.defpath}
        subprocess.run(
            [self.talhelper, "genconfig", *flags], cwd=work, env=environment, check=True, capture_output=True
        )

    def validate(self, config: Path) -> str:
        """What talosctl says against a config; empty if it takes it."""
        done = subprocess.run(
            [self.talosctl, "validate", "--strict", "--mode", "metal", "--config", config],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stderr if done.returncode else ""


def import_talconfig(file: Path, into: Path, *flags: str) -> None:
    """By the command, as a person would do it; it must have understood everything."""
    assert run(["import", "talconfig", str(file), "--into", str(into), *flags]) == 0


def differences(ours: Sequence[Document], theirs: Sequence[Document]) -> Iterator[Difference]:
    """Field by field, in canonical form; the order of documents says nothing."""
    our_own = {identity(document): canonical(document) for document in ours}
    their_own = {identity(document): canonical(document) for document in theirs}
    for key in {**our_own, **their_own}:
        yield from _differences(our_own.get(key), their_own.get(key), key[0])


def _differences(ours: Any, theirs: Any, path: str) -> Iterator[Difference]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in {**ours, **theirs}:
            yield from _differences(ours.get(key), theirs.get(key), f"{path}.{key}" if path else key)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for one, other in zip(ours, theirs, strict=True):
            yield from _differences(one, other, f"{path}[]")
    elif ours != theirs:
        yield Difference(path, *(NONE if value is None else json.dumps(value) for value in (ours, theirs)))
