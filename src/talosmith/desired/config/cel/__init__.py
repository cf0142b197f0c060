"""CEL expressions in machine configs: parsed and type-checked, never run.

Few configs have one, so the parser is loaded with the first.
"""

from __future__ import annotations


def check_expression(text: str, environment: str) -> None:
    """Raises `CelError`, a ValueError, if Talos would refuse the expression in this place."""
    from talosmith.desired.config.cel import expression

    expression.check_expression(text, environment)
