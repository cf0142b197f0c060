"""Machine configs: generated per version contract, patched, validated and written as talosctl does it."""
