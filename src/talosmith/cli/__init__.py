"""Parse, call, render; no logic."""
