"""Outgoing webhooks: endpoints, what each has not got yet, delivery, and alarms as events."""
