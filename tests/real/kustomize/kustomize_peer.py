"""The cases that talosmith and the real kustomize both build."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from talosmith.kustomize.objects import objects

_FOLDER = Path(__file__).parent
Named = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Case:
    name: str
    files: dict[str, Any]
    shared: dict[str, str]

    def write(self, root: Path) -> Path:
        """The folder to build. A key is a folder with a kustomization, or the name of a file."""
        for name, content in self.files.items():
            if name in ("build", "says") or (name == "." and content is None):
                continue
            path = root / name
            if name == "." or ("." not in path.name and path.name != "Kustomization"):
                path = path / "kustomization.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.name in ("kustomization.yaml", "Kustomization"):
                for other, text in self.shared.items():
                    (path.parent / other).write_text(text)
            data = content if isinstance(content, (str, bytes)) else yaml.safe_dump(content, allow_unicode=True)
            path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return root / self.files.get("build", ".")


def cases(section: str = "cases") -> list[Case]:
    data = yaml.safe_load((_FOLDER / "cases.yaml").read_text())
    return [Case(name, files, data["shared"]) for name, files in data[section].items()]


def run_kustomize(kustomize: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([kustomize, "build", folder], capture_output=True, text=True, check=False)


def by_kustomize(kustomize: Path, folder: Path) -> Named:
    done = run_kustomize(kustomize, folder)
    assert done.returncode == 0, done.stderr
    return named(objects(done.stdout, folder))


def named(found: list[dict[str, Any]]) -> Named:
    def name(one: dict[str, Any]) -> str:
        metadata = one["metadata"]
        return f"{one['apiVersion']} {one['kind']} {metadata.get('namespace', '')}/{metadata['name']}"

    result = {name(one): one for one in found}
    assert len(result) == len(found)
    return result
