"""The Talos API on the wire: our own descriptions of its messages, and the code that `tools/protos.py` makes."""
