"""Removes the texts that the policy no longer keeps, each only after it is in an archive with its proofs."""
