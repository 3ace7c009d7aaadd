"""The forms of a text in which a value may be visible, each with the way back to the original offsets."""
