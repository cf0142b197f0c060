"""Inventories from other tools' files: what is understood becomes an inventory, what is not becomes a report."""

from talosmith.inventory.importers.files import Imported, write
from talosmith.inventory.importers.placing import Refuse
from talosmith.inventory.importers.remarks import Remark
from talosmith.inventory.importers.talconfig import import_talconfig

__all__ = ["Imported", "Refuse", "Remark", "import_talconfig", "write"]
