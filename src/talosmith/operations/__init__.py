"""What a user can ask for: one file each, each a pure function from what should be and what is to a plan."""
