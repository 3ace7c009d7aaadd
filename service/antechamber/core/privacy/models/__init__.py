"""Trained models: linear judgements of words and values that no pattern describes."""
