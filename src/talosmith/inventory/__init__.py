"""Inventory files become a Cluster: read, checked against schema and rules, every problem with its place."""

from talosmith.inventory.load import Report, check, load

__all__ = ["Report", "check", "load"]
