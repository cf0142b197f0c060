"""Finds out what is there. Nothing here changes anything."""
