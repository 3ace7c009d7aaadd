"""Pure rules: no clock, no randomness, no input or output, no framework."""
