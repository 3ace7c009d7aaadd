"""The judgement of one value: whether it is a password or a secret, and not code, prose or a placeholder."""
