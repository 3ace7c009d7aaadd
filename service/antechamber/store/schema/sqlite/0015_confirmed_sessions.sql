-- When the person of a session last proved again who it is, for actions that ask for it; NULL if that was the sign-in.
ALTER TABLE sessions ADD COLUMN confirmed_at INTEGER;
