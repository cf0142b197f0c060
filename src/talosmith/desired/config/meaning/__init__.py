"""What a machine config means to Talos, in either form; `meaning` reads it, `differences` compares."""

from talosmith.desired.config.meaning.differences import differences
from talosmith.desired.config.meaning.meaning import SECTIONS, Meaning, meaning

__all__ = ["SECTIONS", "Meaning", "differences", "meaning"]
