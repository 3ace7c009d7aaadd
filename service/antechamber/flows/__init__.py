"""The imperative shell: each flow connects the pure rules with the store, the clock and randomness."""
