"""Runs any plan, and knows nothing of Talos: the runner, the journal, the lock."""
