"""The support bundle: one zip with what is needed to find out why a cluster does not work, and none of its secrets.

`collect` gathers (read-only, nodes may be down), `scrub` removes secrets from every file, `archive` writes the zip.
"""
