"""What happened and what was found, as text, tables and data."""
