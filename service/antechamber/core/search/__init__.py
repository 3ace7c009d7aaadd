"""Search: how texts become terms, how questions are read, and how memories are ranked."""
