"""Disk images and ISOs of Talos on this computer, for providers that bring them to a host."""

from talosmith.providers.images.cache import Image
from talosmith.providers.images.fetching import Source, image_cache, obtain, peek, prove

__all__ = ["Image", "Source", "image_cache", "obtain", "peek", "prove"]
