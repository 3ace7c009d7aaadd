"""Labelled texts that measure the detectors: made at run time from recipes, so that no file holds what looks live."""
