"""Keys that are accepted before anything acts on them: each gives a warning, so that nothing is ignored silently.

`tests/unit/inventory/test_every_key.py` holds this table to the schema: a key is acted on by a module, or it is here.
"""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.inventory.findings import Finding, warning
from talosmith.inventory.resolve import Resolved

# Top-level key -> what does not happen. An entry is removed by the change that acts on the key.
NOT_BUILT = {
    "repository": "the repository is neither read nor written",
    "gitops": "Flux is not installed; `addons.flux-instance` installs it",
}
_FLUX = "flux-instance"  # follows the repository


def keys_are_built(resolved: Resolved) -> Iterator[Finding]:
    """A warning for each key that is given, asks for something, and is not acted on."""
    inventory = resolved.inventory
    given = {key for key in inventory.model_fields_set if getattr(inventory, key) is not None}
    if _FLUX in resolved.cluster.addons:
        given -= {"repository", "gitops"}
    for key, consequence in NOT_BUILT.items():
        if key in given:
            fix = f"set it up yourself after `talosmith up`, or remove `{key}`"
            yield warning((key,), f"`{key}` is not built yet: {consequence}", fix=fix)
