"""The machine images of the simulated AWS, and the settings that moto reads once, when it is first imported.

Every module here that needs moto imports this one first. An image of the vendor's name by another account is in each
region, newer than the vendor's: a client that does not name the owner boots that one.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

TALOS_OWNER = "540036508848"
FAKE_OWNER = "999999999999"
REGIONS = ("eu-central-1", "eu-west-1", "us-east-1")
VERSIONS = ("v1.12.1", "v1.13.9", "v1.14.1")
ARCHITECTURES = {"amd64": "x86_64", "arm64": "arm64"}
ROOT_DEVICE = "/dev/xvda"
_FAKE = "ami-0bad0bad"  # how the id of each fake image begins


def image_name(version: str, region: str, arch: str = "amd64") -> str:
    return f"talos-{version}-{region}-{arch}"


def image_id(version: str, region: str, arch: str = "amd64") -> str:
    """The id of the vendor's image."""
    return _id(image_name(version, region, arch))


def is_fake(image: str) -> bool:
    return image.startswith(_FAKE)


def region_of(name: str) -> str:
    """The region in the name of an image, or nothing."""
    return next((region for region in REGIONS if f"-{region}-" in name), "")


def _id(name: str) -> str:
    return f"ami-{hashlib.sha256(name.encode()).hexdigest()[:17]}"


def _images() -> list[dict[str, Any]]:
    found = []
    for version in VERSIONS:
        for region in REGIONS:
            for arch in ARCHITECTURES:
                name = image_name(version, region, arch)
                created = f"2026-0{VERSIONS.index(version) + 3}-11T09:10:11.000Z"
                found.append(_image(name, _id(name), TALOS_OWNER, arch, created))
                fake = f"{_FAKE}{hashlib.sha256(name.encode()).hexdigest()[:9]}"
                found.append(_image(name, fake, FAKE_OWNER, arch, "2026-10-31T00:00:00.000Z"))
    return found


def _image(name: str, image: str, owner: str, arch: str, created: str) -> dict[str, Any]:
    return {
        "ami_id": image,
        "name": name,
        "description": name,
        "owner_id": owner,
        "image_location": f"{owner}/{name}",
        "image_type": "machine",
        "public": True,
        "state": "available",
        "architecture": ARCHITECTURES[arch],
        "creation_date": created,
        "virtualization_type": "hvm",
        "hypervisor": "xen",
        "root_device_type": "ebs",
        "root_device_name": ROOT_DEVICE,
        "sriov": "simple",
        "boot_mode": "uefi-preferred",
    }


def _set_up() -> None:
    if "moto.ec2" in sys.modules:
        raise RuntimeError("moto is imported before tests.simulators.aws: its images and checks are not ours")
    folder = Path(tempfile.mkdtemp(prefix="aws-images-"))
    file = folder / "images.json"
    file.write_text(json.dumps(_images()))
    os.environ["MOTO_AMIS_PATH"] = str(file)
    os.environ["MOTO_ENABLE_AMI_VALIDATION"] = "1"
    os.environ["MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION"] = "1"
    os.environ["MOTO_IAM_LOAD_MANAGED_POLICIES"] = "true"
    import moto.ec2.models

    assert moto.ec2.models.ec2_backends is not None  # imported for its effect
    file.unlink()
    folder.rmdir()


_set_up()
