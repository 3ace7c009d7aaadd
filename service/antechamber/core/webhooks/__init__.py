"""Outgoing webhooks: which changes are events, what is sent, where to, and when it is tried again."""
