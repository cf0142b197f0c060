"""From patches in v1alpha1 form to documents of Talos 1.14."""

from talosmith.desired.config.migrate.moved import BOTH, Kept, Migration, Moved, Scope
from talosmith.desired.config.migrate.patch import migrate_patch, migrate_value

__all__ = ["BOTH", "Kept", "Migration", "Moved", "Scope", "migrate_patch", "migrate_value"]
