"""Formats of YAML: what each tool means by a text, and how each writes one."""
