"""Frozen facts that everything else is made of. Imports nothing of ours.

Names are looked up when they are first used: who needs a `Secret` only does not pay for the inventory's models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talosmith.lazy import lookup

if TYPE_CHECKING:
    from talosmith.model.cluster import *
    from talosmith.model.providers import *
    from talosmith.model.secret import *
    from talosmith.model.services import *
    from talosmith.model.versions import *

_HOMES = {  # which module has which names
    "cluster": "Cluster ClusterNetwork Endpoint InstallDisk Node Patch Role",
    "providers": "PROVIDERS ProviderSection",
    "secret": "Secret",
    "services": "Image Services",
    "versions": "Version",
}
__getattr__ = lookup(__name__, _HOMES)
