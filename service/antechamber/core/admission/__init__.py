"""Admission: how a submission is read, hashed, decided and answered."""
