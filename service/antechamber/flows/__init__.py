"""The imperative shell: each flow joins the pure rules with the store, the clock and chance."""
