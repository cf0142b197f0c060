"""No secret is anywhere but where it belongs: not in what is printed or kept, nor in arguments or environments."""

from __future__ import annotations

import base64
import binascii
import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from tests.lab.up.places import DESTROY, UP, Here
from tests.lab.up.watching import Watching

pytestmark = pytest.mark.slow

PUBLIC = ("crt",)  # certificates are shown to everybody who connects
CANARY = "tests.lab.up.hooks:raise_in_step"


def leaves(value: object, key: str = "") -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield from leaves(one, str(name))
    elif isinstance(value, list | tuple):
        for one in value:
            yield from leaves(one, key)
    elif isinstance(value, str) and key not in PUBLIC:
        yield value


def forms(secret: str) -> set[bytes]:
    """As it stands, encoded, decoded, and the lines of a key without their frame."""
    found = {secret.encode(), base64.b64encode(secret.encode()).rstrip(b"=")[:-1], json.dumps(secret)[1:-1].encode()}
    try:
        plain = base64.b64decode(secret, validate=True)
    except (binascii.Error, ValueError):
        plain = b""
    if plain:
        found |= {plain, plain.hex().encode(), base64.urlsafe_b64encode(plain)}
    for text in (secret.encode(), plain):
        body = [line for line in text.splitlines() if line and not line.startswith(b"-----")]
        if b"PRIVATE KEY" in text:
            found |= {*body, base64.b64decode(b"".join(body))[-32:]}
    return {one for one in found if len(one) >= 12}


def canaries(here: Here) -> set[bytes]:
    secrets = [*leaves(here.kit.bundle.to_mapping()), age_key(here)]
    assert len(secrets) > 10
    return {form for secret in secrets for form in forms(secret)}


def age_key(here: Here) -> str:
    lines = (here.root / "config" / "sops" / "age" / "keys.txt").read_text().splitlines()
    return next(line for line in lines if line.startswith("AGE-SECRET-KEY"))


def made_keys(here: Here) -> set[bytes]:
    """Client keys, which nobody had before the run: they belong to two files."""
    talos = yaml.safe_load((here.folder / "talosconfig").read_text())
    kube = yaml.safe_load((here.folder / "kubeconfig").read_text())
    keys = [context["key"] for context in talos["contexts"].values()]
    keys += [user["user"]["client-key-data"] for user in kube["users"]]
    return {form for key in keys for form in forms(key)}


def files(here: Here) -> dict[str, bytes]:
    """All that was written, but for the lab's disks: they stand for those of the machines."""
    labs = here.state / "talosmith" / "labs"
    return {
        str(path.relative_to(here.root)): path.read_bytes()
        for path in here.root.rglob("*")
        if path.is_file() and labs not in path.parents
    }


def search(places: Mapping[str, bytes], secrets: set[bytes]) -> list[str]:
    return sorted(name for name, content in places.items() if any(secret in content for secret in secrets))


class ProcessWatch(Watching):
    """Reads the arguments and environments of all processes that belong to this place."""

    def __init__(self, here: Here) -> None:
        super().__init__()
        self._mark = f"XDG_STATE_HOME={here.state}".encode()
        self.seen: dict[str, bytes] = {}

    def look(self) -> None:
        for process in Path("/proc").glob("[0-9]*"):
            try:
                environment = (process / "environ").read_bytes()
                if self._mark in environment:
                    self.seen[f"{process.name} environment"] = environment
                    self.seen[f"{process.name} arguments"] = (process / "cmdline").read_bytes()
            except OSError:
                continue
        time.sleep(0.01)


def talosmith(here: Here, *argv: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """A process that begins from nothing, as a user's does."""
    command = [sys.executable, "-m", "talosmith", argv[0], "-i", str(here.folder), *argv[1:]]
    env = {**here.env, "PYTHONPATH": os.environ.get("PYTHONPATH", ""), **variables}
    return subprocess.run(command, env=env, capture_output=True, check=False, timeout=600)


@pytest.mark.parametrize("output", ["json", "text"])
def test_a_whole_life_tells_no_secret(here: Here, output: str) -> None:
    here.write(1, 1)
    secrets = canaries(here)
    said: dict[str, bytes] = {}

    def do(*argv: str, code: int) -> None:
        ended = talosmith(here, *argv)
        assert ended.returncode == code, ended.stderr.decode()
        said[" ".join(argv)] = ended.stdout + ended.stderr

    timeline = here.root / "timeline.html"
    with ProcessWatch(here) as watch:
        do(*UP, "-o", output, "--timeline", str(timeline), code=0)
        here.write(1, 1, more="patches: [{machine: {sysctls: {vm.swappiness: '10'}}}]\n")
        do("plan", "-o", output, "--out", str(here.root / "plan.json"), code=2)
        do(*UP, "-o", output, str(here.root / "plan.json"), code=0)
        do("runs", code=0)
        keys = made_keys(here)
        written = files(here)
        disks = {path.name: path.read_bytes() for path in here.lab_folder.iterdir() if path.is_file()}
        do(*DESTROY, "-o", output, code=0)
    assert len(watch.seen) >= 6, "the processes were not seen"
    assert search(disks, secrets), "the machines' disks have them, so they would be found elsewhere, too"
    assert search(watch.seen, secrets | keys) == []
    assert search(said, secrets | keys) == []
    assert search({**written, **files(here)}, secrets) == ["config/sops/age/keys.txt"]
    assert search(written, keys) == ["cluster/kubeconfig", "cluster/talosconfig"]
    assert timeline.exists() and any(name.endswith("journal.sqlite") for name in written)


def test_a_key_in_our_environment_is_not_handed_on(here: Here) -> None:
    """The user keeps it there for us; the lab, which goes on when we are done, has no use for it."""
    here.write(1, 0)
    key = age_key(here)
    (here.root / "config" / "sops" / "age" / "keys.txt").unlink()
    others = {"PROXMOX_TOKEN": "canary-of-a-token", "AWS_SECRET_ACCESS_KEY": "canary-of-a-key"}
    ended = talosmith(here, *UP, SOPS_AGE_KEY=key, HARMLESS="and-handed-on", **others)
    assert ended.returncode == 0, ended.stderr.decode()
    pid = json.loads((here.lab_folder / "lab.json").read_text())["pid"]
    handed = Path(f"/proc/{pid}/environ").read_bytes()
    assert b"HARMLESS=and-handed-on" in handed
    assert search({"lab": handed}, {key.encode(), b"canary-of"}) == []


def test_files_and_folders_are_for_their_owner_alone(here: Here) -> None:
    here.write(1, 1)
    before = os.umask(0)
    try:
        assert talosmith(here, *UP).returncode == 0
    finally:
        os.umask(before)
    for path in [*here.state.glob("talosmith/**/*"), *(here.folder / name for name in ("talosconfig", "kubeconfig"))]:
        mode = stat.S_IMODE(path.lstat().st_mode)
        assert not mode & 0o077, f"{path} has mode {mode:o}"


@pytest.mark.parametrize("output", ["json", "text"])
@pytest.mark.parametrize("step", ["CreateMachine", "FirstConfig", "BootstrapEtcd", "WriteKubeconfig"])
def test_an_exception_that_holds_a_secret_does_not_tell_it(here: Here, step: str, output: str) -> None:
    here.write(1, 1)
    secrets = canaries(here)
    text = json.dumps(here.kit.bundle.to_mapping())
    ended = here.up("-o", output, before=(CANARY, {"name": step, "text": text}))
    assert ended.code == 1 and "bug in talosmith" in ended.said, ended.said
    assert search({"said": ended.said.encode(), **files(here)}, secrets) == ["config/sops/age/keys.txt"]
    assert here.up().code == 0
