"""What talosctl validate complains about."""
