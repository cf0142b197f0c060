"""Patches: strategic merges, JSON patches, deletions."""
