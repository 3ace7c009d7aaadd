"""The search of texts for the values of all rules: the prefilter, the compiled rules and the engine."""
