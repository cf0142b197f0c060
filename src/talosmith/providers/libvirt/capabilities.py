"""What the host can run: which kind of machine, for which architecture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from talosmith.errors import Permanent
from talosmith.providers.libvirt.domain import HOST_CPU, WHOLE_EMULATION
from talosmith.providers.libvirt.xml import parse

_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}
_BOARDS = {"x86_64": "q35", "aarch64": "virt"}


@dataclass(frozen=True, slots=True)
class Capabilities:
    driver: str  # QEMU, or TEST
    kinds: dict[str, tuple[str, ...]]  # architecture -> kinds of domains

    def hardware(self, arch: str, wanted: str, model: str | None) -> dict[str, str]:
        """The fields of a domain that follow from the host; `wanted` is auto, kvm or qemu."""
        if self.driver == "TEST":
            return {"kind": "test", "arch": next(iter(self.kinds)), "machine": "", "cpu_model": ""}
        name = _ARCHITECTURES[arch]
        kinds = self.kinds.get(name, ())
        kind = ("kvm" if "kvm" in kinds else "qemu") if wanted == "auto" else wanted
        if kind not in kinds:
            has = ", ".join(f"{one} ({', '.join(of)})" for one, of in self.kinds.items()) or "nothing"
            raise Permanent(
                f"the host cannot run {name} machines by {kind}: it has {has}",
                hint="install QEMU for that architecture on the host, or set `domain_type: qemu`",
            )
        default = HOST_CPU if kind == "kvm" else WHOLE_EMULATION
        return {"kind": kind, "arch": name, "machine": _BOARDS[name], "cpu_model": model or default}


def capabilities(connection: Any) -> Capabilities:
    tree = parse(connection.getCapabilities())
    kinds: dict[str, tuple[str, ...]] = {}
    for guest in tree.findall("guest"):
        if guest.findtext("os_type") == "hvm":
            for arch in guest.findall("arch"):
                kinds[arch.get("name", "")] = tuple(one.get("type", "") for one in arch.findall("domain"))
    return Capabilities(connection.getType().upper(), kinds)
