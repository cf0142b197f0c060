"""libvirt: machines in one network of the host, from a verified image."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from talosmith.inventory.findings import Finding, error
from talosmith.inventory.layouts.layout import Layout
from talosmith.model.providers import Libvirt

if TYPE_CHECKING:
    from talosmith.inventory.resolve import Resolved


class LibvirtLayout(Layout[Libvirt]):
    settings = frozenset({"extra_disks", "cpu", "ram"})

    def has_one_network(self, resolved: Resolved) -> Iterator[Finding]:
        if self.section.network and self.section.bridge:
            what = "both `network` and `bridge` are set"
            yield error(("libvirt", "bridge"), what, fix="keep `network` or `bridge`")

    def image_is_proven(self, resolved: Resolved) -> Iterator[Finding]:
        section = self.section
        if (section.image or "").startswith("http://") and not section.image_checksum:
            what, why = "the image is not verified", "plain http can be modified in transit"
            yield error(("libvirt", "image"), what, why, "use https, or set `image_checksum`")

    rules = (
        has_one_network,
        image_is_proven,
    )
