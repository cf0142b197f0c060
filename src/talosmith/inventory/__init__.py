"""Inventory files become a Cluster."""
