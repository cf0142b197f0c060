"""Configs are accepted and refused as `talosctl validate` does it, in every mode, strict or not, by 1.13 and 1.14."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from config_keys import private_keys
from config_peer import TALOSCTLS, Talosctl, known_differences, read_cases

from talosmith.desired.bundle import Bundle
from talosmith.desired.config.check.findings import MODES, Mode
from talosmith.desired.config.check.validate import errors_of, validate
from talosmith.desired.config.emit import emit
from talosmith.desired.config.generate import Options, generate
from talosmith.desired.config.known import unknown_to
from talosmith.desired.config.load import load
from talosmith.desired.config.patch.apply import apply_patches, load_patch
from talosmith.desired.config.problems import ConfigError
from talosmith.desired.config.schema.contracts import CONTRACTS
from talosmith.desired.config.schema.documents import KINDS, Document
from talosmith.desired.config.schema.since import Line

TABLE = read_cases("validate_cases.yaml")
NEWER = [
    {"name": name, "base": base, "talos": 1.14, **({"change": given} if isinstance(given, str) else given)}
    for base, changes in TABLE["newer"].items()
    for name, given in changes.items()
]
ALL = [*TABLE["cases"], *NEWER]
CASES = [pytest.param(case, id=case["name"]) for case in ALL]
Config = Callable[[dict[str, Any]], str]


@pytest.fixture(scope="module", params=TALOSCTLS)
def talosctl(peer: Callable[[str], Path], request: pytest.FixtureRequest) -> Talosctl:
    return Talosctl(peer(request.param))


@pytest.fixture(scope="module")
def config() -> Config:
    """The config of a case. Keys are created here: none stands in a file of cases."""
    bundle = Bundle.generate()
    options = Options("lab", "https://192.0.2.10:6443", "1.37.0", "installer:v1", CONTRACTS[1, 14], "/dev/sda")
    bases = TABLE["bases"] | {
        f"new {role}": emit(generate(role, options, bundle)) for role in ("controlplane", "worker")
    }
    texts = {"CERT": bundle.os.certificate, **private_keys()}

    loaded = {name: load(text) for name, text in bases.items() if text}
    configs: dict[str, str] = {}

    def made(case: dict[str, Any]) -> str:
        if case["name"] not in configs:
            configs[case["name"]] = build(case)
        return configs[case["name"]]

    def build(case: dict[str, Any]) -> str:
        change, added = (written(case.get(key, "")) for key in ("change", "add"))
        text = bases[case["base"]]
        if change:
            text = emit(apply_patches(loaded[case["base"]], [load_patch(change)])) if text else change
        return "---\n".join(filter(None, (text, added))) if "talos" in case else text + added

    def written(text: str) -> str:
        for name, value in texts.items():
            text = text.replace(f"<{name}>", json.dumps(value))
        return text.replace("{kind:", "{apiVersion: v1alpha1, kind:")

    return made


@lru_cache(maxsize=2048)
def _documents(text: str) -> tuple[Document, ...]:
    """What is loaded of a config; nothing if it cannot be."""
    try:
        return tuple(load(text))
    except ConfigError:
        return ()


def _ours(text: str, mode: Mode, talos: Line, *, strict: bool = False) -> tuple[bool, bool]:
    """Whether the config is accepted, and whether there is anything to say about it."""
    documents = _documents(text)
    findings = validate(documents, mode, strict=strict, talos=talos)
    return bool(documents) and not errors_of(findings) and not unknown_to(documents, talos), bool(findings)


def test_there_are_enough_cases(config: Config) -> None:
    wrong = [case for case in ALL if not _ours(config(case), "metal", (1, 14), strict=True)[0]]
    assert len({case["name"] for case in ALL}) == len(ALL)
    assert len(wrong) >= 200


def test_every_kind_is_in_a_case_that_is_accepted(config: Config) -> None:
    accepted = [config(case) for case in ALL if _ours(config(case), "metal", (1, 14))[0]]
    assert KINDS.keys() - {document.get("kind") for text in accepted for document in _documents(text)} == set()


@pytest.mark.parametrize("case", CASES)
def test_same_verdict(case: dict[str, Any], talosctl: Talosctl, config: Config) -> None:
    text, talos = config(case), talosctl.line
    if case.get("talos", 1.13) > float(f"{talos[0]}.{talos[1]}"):
        assert not talosctl.validate(text, "metal", strict=False)
        assert not _ours(text, "metal", talos)[0]
        return
    # Being strict is about warnings. Without any, one mode is enough to see that talosctl has none either.
    strict_modes = MODES if _ours(text, "cloud", talos) == (True, True) else MODES[:1]
    asked = [(mode, False) for mode in MODES] + [(mode, True) for mode in strict_modes]
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda one: talosctl.validate(text, one[0], strict=one[1]), asked))
    theirs = dict(zip(asked, answers, strict=True))
    ours = {(mode, strict): _ours(text, mode, talos, strict=strict)[0] for mode, strict in asked}
    if case["name"] in known_differences("validate"):
        assert ours != theirs, "listed as a difference, but there is none"
    else:
        assert ours == theirs
