"""CEL expressions in machine configs: parsed and type-checked, never run."""
