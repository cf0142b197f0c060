"""OpenTofu in a rendered folder: providers come from a folder here, and nothing outside loopback is reached."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROVIDERS = {
    "terraform-provider-proxmox": ("bpg/proxmox", "0.112.0"),
    "terraform-provider-libvirt": ("dmacvicar/libvirt", "0.8.3"),
}
NO_PROXY = "http://127.0.0.1:9"  # where no proxy is: whatever goes out fails
_LIMIT = 300  # seconds in which a command is over, or hangs
_ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True)
class Tofu:
    program: Path
    folder: Path  # with the module
    settings: Path
    home: Path
    variables: Mapping[str, str]
    prefix: Sequence[str | Path] = ()  # of the command, for who enters a namespace

    def __call__(self, *words: str, codes: Sequence[int] = (0,)) -> str:
        done = subprocess.run(
            [*self.prefix, self.program, f"-chdir={self.folder}", *words],
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=_LIMIT,
            check=False,
        )
        assert done.returncode in codes, f"tofu {' '.join(words)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def plan(self, *words: str) -> dict[str, Any]:
        """The plan, as OpenTofu describes it to programs."""
        self("plan", "-input=false", "-no-color", "-out=planned", *words)
        planned: dict[str, Any] = json.loads(self("show", "-json", "planned"))
        return planned

    def changes(self, *words: str) -> dict[str, list[str]]:
        """What a plan does with each resource that it does not leave as it is."""
        found = self.plan(*words).get("resource_changes", [])
        return {
            one["address"]: one["change"]["actions"]
            for one in found
            if one["mode"] == "managed" and one["change"]["actions"] != ["no-op"]
        }

    def apply(self, *words: str) -> None:
        self("apply", "-input=false", "-no-color", "-auto-approve", *words)

    def destroy(self) -> None:
        self("destroy", "-input=false", "-no-color", "-auto-approve")

    def _environment(self) -> dict[str, str]:
        own = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "TF_CLI_CONFIG_FILE": str(self.settings),
            "TF_IN_AUTOMATION": "1",
            "CHECKPOINT_DISABLE": "1",
            "HTTP_PROXY": NO_PROXY,
            "HTTPS_PROXY": NO_PROXY,
            "NO_PROXY": "127.0.0.1",
        }
        return own | dict(self.variables)


def mirror(folder: Path, peer: Callable[[str], Path]) -> Path:
    """Settings for OpenTofu that take providers from a folder, not from a registry."""
    system = f"linux_{_ARCHITECTURE[platform.machine()]}"
    for binary, (source, version) in PROVIDERS.items():
        installed = folder / "registry.opentofu.org" / source / version / system
        installed.mkdir(parents=True)
        (installed / f"{binary}_v{version}").symlink_to(peer(binary))
    settings = folder / "tofurc"
    settings.write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{folder}"\n  }}\n}}\n')
    return settings


def planned_machines(planned: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    """The values of the planned resources of one kind, by their key."""
    resources = planned["planned_values"]["root_module"]["resources"]
    return {one["index"]: one["values"] for one in resources if one["type"] == kind}
