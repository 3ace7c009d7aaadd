-- Runs of retention: each wrote an archive with proofs, and its digest was in the log before any text was removed.
CREATE TABLE retention_runs (
    id INTEGER PRIMARY KEY,
    retention_id TEXT NOT NULL UNIQUE,
    -- SHA-256 of the archive's bytes.
    archive TEXT NOT NULL UNIQUE,
    -- The size of the log whose checkpoint closes the archive, and the number of items in the archive.
    size INTEGER NOT NULL,
    items INTEGER NOT NULL,
    policy_digest TEXT NOT NULL,
    begun_at INTEGER NOT NULL
) STRICT;

CREATE TRIGGER retention_runs_are_final BEFORE UPDATE ON retention_runs
BEGIN SELECT RAISE(ABORT, 'what was recorded of retention stays'); END;
CREATE TRIGGER retention_runs_stay BEFORE DELETE ON retention_runs
BEGIN SELECT RAISE(ABORT, 'what was recorded of retention stays'); END;

-- The run that removed the text; NULL if an operator erased it.
ALTER TABLE erasures ADD COLUMN retention INTEGER REFERENCES retention_runs (id);
