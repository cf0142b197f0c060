"""The image that machines start from: the one that the makers of Talos publish from their account, or a given one.

Anyone may publish an image with any name, so a name proves nothing.
"""

from __future__ import annotations

from typing import Any

from talosmith.errors import Permanent
from talosmith.model.machines import MachineSpec
from talosmith.providers.aws.client import AwsClient
from talosmith.providers.aws.failures import Gone
from talosmith.providers.aws.settings import AwsSettings

VENDOR = "540036508848"
ARCHITECTURE = {"amd64": "x86_64", "arm64": "arm64"}
ROOT = "/dev/xvda"


class Images:
    def __init__(self, client: AwsClient, settings: AwsSettings) -> None:
        self.client = client
        self.settings = settings
        self._known: dict[str, dict[str, Any]] = {}

    def name(self, spec: MachineSpec) -> str:
        return f"talos-{spec.talos_version}-{self.settings.section.region}-{spec.arch}"

    async def find(self, spec: MachineSpec) -> dict[str, Any] | None:
        """As EC2 describes it."""
        given = self.settings.section.ami
        key = given or self.name(spec)
        if key not in self._known:
            found = await (self._given(given) if given else self._published(spec))
            if found is None:
                return None
            self._known[key] = found
        return self._known[key]

    async def _given(self, ami: str) -> dict[str, Any] | None:
        try:
            asked = await self.client.call("ec2", "describe_images", ImageIds=[ami])
        except Gone:
            return None
        return next(iter(asked["Images"]), None)

    async def _published(self, spec: MachineSpec) -> dict[str, Any] | None:
        filters = [
            {"Name": "name", "Values": [self.name(spec)]},
            {"Name": "state", "Values": ["available"]},
            {"Name": "architecture", "Values": [ARCHITECTURE[spec.arch]]},
        ]
        asked = await self.client.call("ec2", "describe_images", Owners=[VENDOR], Filters=filters)
        there = [one for one in asked["Images"] if one["OwnerId"] == VENDOR]
        return max(there, key=lambda one: str(one.get("CreationDate", "")), default=None)

    async def must_find(self, spec: MachineSpec) -> dict[str, Any]:
        found = await self.find(spec)
        if found is None:
            given = self.settings.section.ami
            region = self.settings.section.region
            what = f"the image {given}" if given else f"an image {self.name(spec)} of the makers of Talos"
            raise Permanent(
                f"{what} does not exist in {region}",
                hint="correct `talos_version`, or set `aws.ami` to an image of your own in this region",
            )
        return found
