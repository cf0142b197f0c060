"""What a machine config may hold: its documents, their fields and their scalars."""
