"""Access: callers, tokens and sign-ins."""
