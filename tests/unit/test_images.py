"""Schematic ids and the names of images. The ids below are published ones."""

from __future__ import annotations

import hashlib

import pytest

from talosmith.desired.images import DEFAULT_FACTORY, ImageRequest, Schematic
from talosmith.errors import UsageError
from talosmith.model.versions import Version

PLAIN = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"
GUEST_AGENT = "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515"
STORAGE = "613e1592b2da41ae5e265e8789429f22e121aab91cb4deb6bc3c0b6262961245"
V1_9, V1_13, V1_14, V1_15 = map(Version.parse, ("1.9.6", "v1.13.9", "v1.14.1", "v1.15.0-alpha.1"))
AGENT = ("siderolabs/qemu-guest-agent",)


@pytest.mark.parametrize(
    ("extensions", "published"),
    [((), PLAIN), (AGENT, GUEST_AGENT), (("siderolabs/iscsi-tools", "siderolabs/util-linux-tools"), STORAGE)],
)
def test_ids_are_the_published_ones(extensions: tuple[str, ...], published: str) -> None:
    assert Schematic(extensions).id == published
    assert ImageRequest(V1_13, extensions=extensions).schematic_id == published


def test_the_order_of_extensions_is_part_of_the_id() -> None:
    assert Schematic(("siderolabs/util-linux-tools", "siderolabs/iscsi-tools")).id != STORAGE


def test_a_full_schematic_has_the_factorys_order() -> None:
    schematic = Schematic(
        extensions=("siderolabs/i915",),
        kernel_args=("console=ttyS0", "vga=791"),
        meta=((10, "a: b\n"), (0, "")),
        overlay_image="siderolabs/sbc-raspberrypi",
        overlay_name="rpi_generic",
        overlay_options={"b": True, "a": {"d": 1, "c": [2]}},
        bootloader="sd-boot",
        enroll_keys="force",
        include_well_known_certificates=True,
        sector_size=4096,
        embedded_config="  indented\nfirst line",
    )
    assert schematic.to_text() == (
        "overlay:\n"
        "    image: siderolabs/sbc-raspberrypi\n"
        "    name: rpi_generic\n"
        "    options:\n"
        "        a:\n"
        "            c:\n"
        "                - 2\n"
        "            d: 1\n"
        "        b: true\n"
        "customization:\n"
        "    embeddedMachineConfiguration: |4-\n"
        "          indented\n"
        "        first line\n"
        "    extraKernelArgs:\n"
        "        - console=ttyS0\n"
        "        - vga=791\n"
        "    meta:\n"
        "        - key: 10\n"
        "          value: |\n"
        "            a: b\n"
        "        - key: 0\n"
        '          value: ""\n'
        "    systemExtensions:\n"
        "        officialExtensions:\n"
        "            - siderolabs/i915\n"
        "    bootloader: sd-boot\n"
        "    secureboot:\n"
        "        enrollKeys: force\n"
        "        includeWellKnownCertificates: true\n"
        "    diskImage:\n"
        "        sectorSize: 4096\n"
    )
    assert schematic.id == hashlib.sha256(schematic.to_text().encode()).hexdigest()
    assert Schematic().to_text() == "customization: {}\n"


def test_a_block_in_a_list_is_hashed_as_go_yaml_writes_it() -> None:
    # Its hint is wrong there, and so it is in the text that the factory hashes.
    assert "value: |4-\n               x\n            y\n" in Schematic(meta=((10, "   x\ny"),)).to_text()


@pytest.mark.parametrize(
    ("request_", "reference"),
    [
        (ImageRequest(V1_13), "ghcr.io/siderolabs/installer:v1.13.9"),
        (ImageRequest(V1_9), "ghcr.io/siderolabs/installer:v1.9.6"),
        (ImageRequest(V1_14), f"factory.talos.dev/metal-installer/{PLAIN}:v1.14.1"),
        (ImageRequest(V1_15), f"factory.talos.dev/metal-installer/{PLAIN}:v1.15.0-alpha.1"),
        (ImageRequest(V1_14, registry="mirror.example"), f"factory.talos.dev/metal-installer/{PLAIN}:v1.14.1"),
        (ImageRequest(V1_14, factory="factory.example"), f"factory.example/metal-installer/{PLAIN}:v1.14.1"),
        (ImageRequest(V1_13, secureboot=True), f"factory.talos.dev/metal-installer-secureboot/{PLAIN}:v1.13.9"),
        (ImageRequest(V1_13, extensions=AGENT), f"factory.talos.dev/metal-installer/{GUEST_AGENT}:v1.13.9"),
        (ImageRequest(V1_13, "nocloud"), f"factory.talos.dev/nocloud-installer/{PLAIN}:v1.13.9"),
        (ImageRequest(V1_13, "aws", schematic=STORAGE), f"factory.talos.dev/aws-installer/{STORAGE}:v1.13.9"),
        (ImageRequest(V1_9, "nocloud", extensions=AGENT), f"factory.talos.dev/installer/{GUEST_AGENT}:v1.9.6"),
        (
            ImageRequest(V1_13, "nocloud", secureboot=True, schematic=STORAGE, factory="factory.example:5000"),
            f"factory.example:5000/nocloud-installer-secureboot/{STORAGE}:v1.13.9",
        ),
        (ImageRequest(V1_13, registry="mirror.example"), "mirror.example/siderolabs/installer:v1.13.9"),
    ],
)
def test_installers(request_: ImageRequest, reference: str) -> None:
    assert request_.installer == reference


def test_boot_assets() -> None:
    metal = ImageRequest(V1_13, kernel_args=("console=ttyS0",))
    assert (metal.iso, metal.disk_image) == ("metal-amd64.iso", "metal-amd64.raw.zst")
    assert (metal.kernel, metal.initramfs) == ("kernel-amd64", "initramfs-amd64.xz")
    arm = ImageRequest(V1_13, "nocloud", "arm64", secureboot=True, extensions=AGENT)
    assert (arm.iso, arm.disk_image) == ("nocloud-arm64-secureboot.iso", "nocloud-arm64-secureboot.raw.xz")
    base = f"https://{DEFAULT_FACTORY}"
    assert arm.url(arm.iso) == f"{base}/image/{GUEST_AGENT}/v1.13.9/nocloud-arm64-secureboot.iso"
    assert arm.pxe_url == f"{base}/pxe/{GUEST_AGENT}/v1.13.9/nocloud-arm64-secureboot"
    aws = ImageRequest(V1_13, "aws")
    assert aws.disk_image == "aws-amd64.raw.xz"
    assert aws.ami_name("eu-central-1") == "talos-v1.13.9-eu-central-1-amd64"
    with pytest.raises(UsageError, match="no ISO for aws"):
        _ = aws.iso


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"platform": "floppy"}, "no images for the platform 'floppy'"),
        ({"arch": "riscv64"}, "no images for the architecture 'riscv64'"),
        ({"platform": "aws", "secureboot": True}, "no secure boot images for aws"),
        ({"schematic": "latest"}, "'latest' is not a schematic id"),
        ({"schematic": PLAIN, "extensions": AGENT}, "exclude each other"),
        ({"schematic": PLAIN, "kernel_args": ("quiet",)}, "exclude each other"),
    ],
)
def test_what_there_is_no_image_for(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        ImageRequest(V1_13, **wrong)  # type: ignore[arg-type]
    assert caught.value.hint
