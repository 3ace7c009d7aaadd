"""Review: the rules of the desk's decisions, and how it orders and shows what is reviewed."""
