"""For agents: sending events over HTTP."""
