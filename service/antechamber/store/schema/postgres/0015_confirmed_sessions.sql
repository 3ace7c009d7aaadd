-- When the person of a session last proved again who it is, for actions that ask for it; NULL if that was the sign-in.
ALTER TABLE antechamber.sessions ADD COLUMN confirmed_at BIGINT;

GRANT UPDATE (confirmed_at) ON antechamber.sessions TO antechamber_admission;
