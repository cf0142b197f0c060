"""Which images a node boots from and installs, and where they are, without any request.

The image factory names an image by the hash of its schematic, so the name can be worked out here. To be downloaded,
a schematic must have been sent to the factory once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from talosmith.errors import UsageError
from talosmith.model.versions import Version
from talosmith.yaml import goyaml

DEFAULT_FACTORY = "factory.talos.dev"
DEFAULT_REGISTRY = "ghcr.io"
PLAIN_INSTALLER = "siderolabs/installer"

# What the platforms' disk images end in, for which an ISO is made, and which can boot securely.
DISK_SUFFIXES = {"metal": "raw.zst", "nocloud": "raw.xz", "aws": "raw.xz"}
PLATFORMS_WITH_ISO = ("metal", "nocloud")
PLATFORMS_WITH_SECUREBOOT = ("metal", "nocloud")
ARCHITECTURES = ("amd64", "arm64")

_INSTALLER_PER_PLATFORM = (1, 10)  # before, the factory had one installer, for metal
_NO_PLAIN_INSTALLER = (1, 14)  # from here on, installers come from the factory only
_SCHEMATIC_ID = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Schematic:
    """What an image has that the plain one has not. The order of extensions and arguments is part of its id."""

    extensions: tuple[str, ...] = ()
    kernel_args: tuple[str, ...] = ()
    meta: tuple[tuple[int, str], ...] = ()
    overlay_image: str = ""
    overlay_name: str = ""
    overlay_options: Mapping[str, Any] = field(default_factory=dict)
    bootloader: str = ""
    enroll_keys: str = ""
    include_well_known_certificates: bool = False
    sector_size: int = 0
    embedded_config: str = field(default="", repr=False)

    def to_mapping(self) -> dict[str, Any]:
        """The factory's canonical form: its order, and nothing that is empty but `customization` itself."""
        customization = {
            "embeddedMachineConfiguration": self.embedded_config,
            "extraKernelArgs": list(self.kernel_args),
            "meta": [{"key": key, "value": value} for key, value in self.meta],
            "systemExtensions": _given({"officialExtensions": list(self.extensions)}),
            "bootloader": self.bootloader,
            "secureboot": _given(
                {
                    "enrollKeys": self.enroll_keys,
                    "includeWellKnownCertificates": self.include_well_known_certificates,
                }
            ),
            "diskImage": _given({"sectorSize": self.sector_size}),
        }
        overlay: dict[str, Any] = {}
        if self.overlay_image or self.overlay_name or self.overlay_options:
            overlay = {"image": self.overlay_image, "name": self.overlay_name}
            overlay |= _given({"options": goyaml.sort_keys(self.overlay_options)})
        return {**_given({"overlay": overlay}), "customization": _given(customization)}

    def to_text(self) -> str:
        """The text whose hash is the id, and which the factory takes as it is."""
        return goyaml.dump(self.to_mapping(), exact=True)

    @property
    def id(self) -> str:
        return hashlib.sha256(self.to_text().encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class ImageRequest:
    """The image of a node. `schematic` is an id from elsewhere; without it, extensions and arguments make one."""

    version: Version
    platform: str = "metal"
    arch: str = "amd64"
    extensions: tuple[str, ...] = ()
    kernel_args: tuple[str, ...] = ()
    secureboot: bool = False
    schematic: str = ""
    factory: str = DEFAULT_FACTORY
    registry: str = DEFAULT_REGISTRY

    def __post_init__(self) -> None:
        _one_of("platform", self.platform, tuple(DISK_SUFFIXES))
        _one_of("architecture", self.arch, ARCHITECTURES)
        if self.secureboot and self.platform not in PLATFORMS_WITH_SECUREBOOT:
            raise UsageError(
                f"there are no secure boot images for {self.platform}",
                hint=f"Secure boot is there for: {', '.join(PLATFORMS_WITH_SECUREBOOT)}.",
            )
        if self.schematic and _SCHEMATIC_ID.fullmatch(self.schematic) is None:
            raise UsageError(
                f"{self.schematic!r} is not a schematic id",
                hint="It is 64 hexadecimal digits, from the image factory.",
            )
        if self.schematic and (self.extensions or self.kernel_args):
            raise UsageError(
                "a schematic id and extensions or kernel arguments exclude each other",
                hint="Leave the id out and it is worked out of them, or leave them out and the id stands for them.",
            )

    @property
    def schematic_id(self) -> str:
        return self.schematic or Schematic(self.extensions, self.kernel_args).id

    @property
    def is_plain(self) -> bool:
        """Whether nothing is asked for that the plain image has not."""
        return not (self.schematic or self.extensions or self.kernel_args or self.secureboot)

    @property
    def installer(self) -> str:
        """The reference of the installer image.

        The plain one is for metal: on another platform it would, with the next upgrade, turn the node into a metal
        one. There the factory's installer is taken even if nothing is added to it.
        """
        release = self.version.line
        if self.is_plain and release < _NO_PLAIN_INSTALLER and self.platform == "metal":
            return f"{self.registry}/{PLAIN_INSTALLER}:{self.version}"
        name = f"{self.platform}-installer" if release >= _INSTALLER_PER_PLATFORM else "installer"
        return f"{self.factory}/{name}{self._secure}/{self.schematic_id}:{self.version}"

    @property
    def disk_image(self) -> str:
        """The file name of the disk image."""
        return f"{self._stem}.{DISK_SUFFIXES[self.platform]}"

    @property
    def iso(self) -> str:
        """The file name of the ISO."""
        if self.platform not in PLATFORMS_WITH_ISO:
            raise UsageError(
                f"there is no ISO for {self.platform}", hint=f"There is one for: {', '.join(PLATFORMS_WITH_ISO)}."
            )
        return f"{self._stem}.iso"

    @property
    def kernel(self) -> str:
        return f"kernel-{self.arch}"

    @property
    def initramfs(self) -> str:
        return f"initramfs-{self.arch}.xz"

    @property
    def pxe_url(self) -> str:
        """Where a network boot starts."""
        return f"https://{self.factory}/pxe/{self.schematic_id}/{self.version}/{self._stem}"

    def url(self, name: str) -> str:
        """Where the factory serves the file."""
        return f"https://{self.factory}/image/{self.schematic_id}/{self.version}/{name}"

    def ami_name(self, region: str) -> str:
        """What the published image is called at AWS; it is a plain one."""
        return f"talos-{self.version}-{region}-{self.arch}"

    @property
    def _secure(self) -> str:
        return "-secureboot" if self.secureboot else ""

    @property
    def _stem(self) -> str:
        return f"{self.platform}-{self.arch}{self._secure}"


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def _one_of(what: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise UsageError(f"there are no images for the {what} {value!r}", hint=f"There are for: {', '.join(known)}.")
