"""What Git would take: as `git` itself says, and by the ignore files where there is no git."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from talosmith.errors import SecretsError
from talosmith.files.git import ignore_in_git, keep_out_of_git, not_ignored, refuse_to_commit

IGNORES = {
    ".gitignore": "# keys\n*.agekey\nrendered/\n/top.yaml\ndeep/**/x.yaml\nlogs/*\n!logs/keep.txt\nname?\n",
    "sub/.gitignore": "own.yaml\n!special.agekey\n",
    ".git/info/exclude": "excluded\n",
}
PATHS = {
    "my.agekey": True,
    "sub/my.agekey": True,
    "sub/special.agekey": False,
    "rendered/cp-1.yaml": True,
    "sub/rendered/deeper/cp-1.yaml": True,
    "rendered": False,  # a file: the pattern is for folders
    "top.yaml": True,
    "sub/top.yaml": False,
    "deep/x.yaml": True,
    "deep/a/b/x.yaml": True,
    "logs/a.txt": True,
    "logs/keep.txt": False,
    "sub/own.yaml": True,
    "own.yaml": False,
    "excluded": True,
    "name1": True,
    "name12": False,
    "talosconfig": False,
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A work tree, without the ignore file of whoever runs this."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    root = tmp_path / "tree"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


@pytest.mark.parametrize("git", [True, False], ids=["with git", "without git"])
def test_what_is_ignored(tree: Path, git: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in IGNORES.items():
        (tree / name).parent.mkdir(exist_ok=True)
        (tree / name).write_text(text)
    if not git:
        monkeypatch.setenv("PATH", "")
    taken = not_ignored(tree / name for name in PATHS)
    assert {path.relative_to(tree).as_posix() for path in taken} == {name for name, gone in PATHS.items() if not gone}


def test_outside_of_a_work_tree_nothing_is_taken(tmp_path: Path) -> None:
    assert not_ignored([tmp_path / "talosconfig"]) == []


def test_a_single_file_is_refused_with_the_command_that_helps(tree: Path) -> None:
    path = tree / "my keys" / "secrets.yaml"
    path.parent.mkdir()
    with pytest.raises(SecretsError, match="would hold secrets where Git does not ignore it") as refused:
        refuse_to_commit(path)
    subprocess.run(["sh", "-c", refused.value.hint], check=True)
    refuse_to_commit(path)
    assert (tree / ".gitignore").read_text() == "/my keys/secrets.yaml\n"


def test_a_folder_of_its_own_gets_an_ignore_file(tree: Path) -> None:
    out = tree / "out"
    keep_out_of_git(out, ["cp-1.yaml", "w-1/user-data"])
    assert not_ignored([out / "cp-1.yaml", out / "w-1" / "user-data", out / ".gitignore"]) == []
    assert out.stat().st_mode & 0o777 == 0o700
    (out / "cp-1.yaml").write_text("secret")
    keep_out_of_git(out, ["cp-1.yaml"])


def test_a_folder_with_other_files_is_refused(tree: Path) -> None:
    (tree / "cluster.yaml").write_text("mine")
    with pytest.raises(SecretsError, match="would hold secrets") as refused:
        keep_out_of_git(tree, ["cp-1.yaml"])
    assert "a folder of its own" in refused.value.hint
    assert not (tree / ".gitignore").exists()


@pytest.mark.parametrize("present", ["", "node_modules"])
def test_a_file_of_the_inventory_is_added_to_its_ignore_file(tree: Path, present: str) -> None:
    home = tree / "home"
    home.mkdir()
    if present:
        (home / ".gitignore").write_text(present)
    assert ignore_in_git(home / "kubeconfig")
    assert not ignore_in_git(home / "kubeconfig")
    assert (home / ".gitignore").read_text().split() == [*present.split(), "/kubeconfig"]


def test_a_file_that_is_tracked_is_refused(tree: Path) -> None:
    path = tree / "kubeconfig"
    path.write_text("old")
    subprocess.run(["git", "-C", str(tree), "add", "kubeconfig"], check=True)
    with pytest.raises(SecretsError, match="kubeconfig is tracked by Git") as refused:
        ignore_in_git(path)
    assert refused.value.hint.startswith(f"git rm --cached {path}")


def test_a_hook_of_another_work_tree_changes_nothing(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(tree.parent / "elsewhere"))
    (tree / ".gitignore").write_text("kubeconfig\n")
    assert not_ignored([tree / "kubeconfig"]) == []
