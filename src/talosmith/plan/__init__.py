"""Deciding, and nothing else: what has to be done, in which order, and whether it is safe. No input, no output."""
