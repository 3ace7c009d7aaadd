"""Review: what the desk decides and what it shows."""
