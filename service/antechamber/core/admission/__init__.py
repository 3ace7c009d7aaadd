"""Admission: parse, hash and judge a submission, and form its receipt."""
