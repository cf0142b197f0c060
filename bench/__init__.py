"""Measurements against the peers: ratios in one run, both numbers printed. `make bench` runs them all."""
