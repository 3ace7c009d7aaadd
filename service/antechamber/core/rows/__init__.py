"""Rows: what the store returns, by feature. Times are microseconds since 1970 UTC."""
