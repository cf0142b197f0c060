"""Keeps secrets out of Git: what is written in the clear lands where Git ignores it, or is not written.

`git check-ignore` decides where Git is installed; a work tree may well be edited where it is not, and then the ignore
files are read here.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from talosmith.environment import for_children
from talosmith.errors import SecretsError
from talosmith.files import make_private_folder

IGNORE_FILE = ".gitignore"
_PATIENCE = 10.0  # seconds for git, which reads files only
_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")  # set inside hooks: about another work tree


def not_ignored(paths: Iterable[Path]) -> list[Path]:
    """Those of the paths that are inside of a work tree and that `git add` would take."""
    trees: dict[Path, list[Path]] = {}
    for path in paths:
        if (tree := work_tree(path)) is not None:
            trees.setdefault(tree, []).append(path)
    ignored = {path for tree, inside in trees.items() for path in _ignored(inside, tree)}
    return [path for inside in trees.values() for path in inside if path not in ignored]


def work_tree(path: Path) -> Path | None:
    """The work tree that a file of this path would be in."""
    return next((folder for folder in _whole(path).parents if (folder / ".git").exists()), None)


def _whole(path: Path) -> Path:
    """Without links above it; the file itself may be one."""
    return path.parent.resolve() / path.name


def refuse_to_commit(path: Path) -> None:
    """Raise if Git would take a secret file of this path."""
    if not_ignored([path]):
        raise _refusal(path)


def keep_out_of_git(folder: Path, names: Sequence[str]) -> None:
    """Make Git ignore the secret files `names` of `folder`, by an ignore file inside of it.

    It ignores all of the folder, so that is done only where nothing else is in it.
    """
    files = [folder / name for name in names]
    taken = not_ignored(files)
    if not taken:
        return
    present = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if present - {IGNORE_FILE, *(Path(name).parts[0] for name in names)}:
        raise SecretsError(
            f"{taken[0]} would hold secrets where Git does not ignore it",
            hint=f"write into a folder of its own, or ignore this one: {ignore_command(folder)}",
        )
    make_private_folder(folder)
    (folder / IGNORE_FILE).write_text("# talosmith writes secrets into this folder.\n*\n", encoding="utf-8")
    for path in not_ignored(files):  # because the index has it
        raise _refusal(path)


def ignore_in_git(path: Path) -> bool:
    """Make Git ignore a secret file in a folder of the user's, by a line in the ignore file next to it."""
    if not not_ignored([path]):
        return False
    ignore = path.parent / IGNORE_FILE
    present = ignore.read_text(encoding="utf-8") if ignore.exists() else ""
    with ignore.open("a", encoding="utf-8") as file:
        file.write(("\n" if present and not present.endswith("\n") else "") + f"/{path.name}\n")
    refuse_to_commit(path)
    return True


def _refusal(path: Path) -> SecretsError:
    tracked = _git("ls-files", "--error-unmatch", "--", path.name, folder=path.parent)
    if tracked is not None and tracked.returncode == 0:
        return SecretsError(
            f"{path} is tracked by Git and would hold secrets",
            hint=f"git rm --cached {shlex.quote(str(path))}, then ignore it: {ignore_command(path, is_file=True)}",
        )
    return SecretsError(
        f"{path} would hold secrets where Git does not ignore it", hint=ignore_command(path, is_file=True)
    )


def ignore_command(path: Path, *, is_file: bool = False) -> str:
    """A shell command after which Git ignores the folder or file."""
    whole = _whole(path)
    tree = work_tree(path) or whole.parent
    pattern = f"/{whole.relative_to(tree)}{'' if is_file else '/'}"
    return f"echo {shlex.quote(pattern)} >> {shlex.quote(str(tree / IGNORE_FILE))}"


def _ignored(paths: Sequence[Path], tree: Path) -> set[Path]:
    names = {os.fsencode(_whole(path).relative_to(tree)): path for path in paths}
    done = _git("check-ignore", "-z", "--stdin", folder=tree, stdin=b"\0".join(names))
    if done is None or done.returncode not in (0, 1):  # 1: none of them; else, for one, a work tree of another user
        return {path for path in paths if _matches(_whole(path), tree)}
    return {names[name] for name in done.stdout.split(b"\0") if name in names}


def _git(*arguments: str, folder: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes] | None:
    """None where there is no git, or none that answers."""
    program = shutil.which("git")
    if program is None or not folder.is_dir():
        return None
    environment = {name: value for name, value in for_children().items() if name not in _ELSEWHERE}
    try:
        return subprocess.run(
            [program, "-C", str(folder), *arguments],
            env=environment,
            input=stdin,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def _matches(path: Path, tree: Path) -> bool:
    """Whether an ignore file covers the path or a folder above it; within a file, the last match decides."""
    parts = path.relative_to(tree).parts
    for depth in range(1, len(parts) + 1):
        ignored, is_folder = False, depth < len(parts)
        for base, line in _lines(tree, parts[:depth]):
            wanted = line.removeprefix("!")
            if is_folder or not wanted.endswith("/"):
                inside = "/".join(parts[len(base) : depth])
                if _pattern(wanted.rstrip("/")).fullmatch(inside):
                    ignored = not line.startswith("!")
        if ignored:
            return True
    return False


def _lines(tree: Path, parts: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The patterns that apply, weakest first, each with the folder it is relative to."""
    files: list[tuple[tuple[str, ...], Path]] = [((), tree / ".git" / "info" / "exclude")]
    files += [(parts[:depth], tree.joinpath(*parts[:depth], IGNORE_FILE)) for depth in range(len(parts))]
    for base, file in files:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        yield from ((base, line.rstrip()) for line in text.splitlines() if line.strip() and line[0] != "#")


def _pattern(line: str) -> re.Pattern[str]:
    start = "" if "/" in line else "(?:.*/)?"
    text = re.escape(line.lstrip("/")).replace(r"\*\*/", "(?:.*/)?").replace(r"/\*\*", "/.*")
    return re.compile(start + text.replace(r"\*", "[^/]*").replace(r"\?", "[^/]"))
