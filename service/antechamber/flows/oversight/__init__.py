"""Oversight: calibration items, second looks, time on screen, and the figures about them."""
