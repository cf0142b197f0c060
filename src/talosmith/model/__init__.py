"""Frozen facts that everything else is made of. Imports nothing of ours."""
