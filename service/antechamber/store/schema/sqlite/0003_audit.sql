-- What signs the log, and what auditing and erasing leave behind. All of it is only ever added to.

-- Verifier keys of the log's checkpoints; the last one is in use. The private keys are in files.
CREATE TABLE log_keys (
    id INTEGER PRIMARY KEY,
    verifier_key TEXT NOT NULL UNIQUE,
    added_at INTEGER NOT NULL
) STRICT;

CREATE TABLE checkpoints (
    id INTEGER PRIMARY KEY,
    size INTEGER NOT NULL,
    note TEXT NOT NULL UNIQUE,
    signed_at INTEGER NOT NULL
) STRICT;

CREATE INDEX checkpoints_by_size ON checkpoints (size, id);

-- Complete nodes of every eighth level of the tree from the eighth on, so that a proof need not read every leaf. They can
-- be computed again from the leaves at any time.
CREATE TABLE log_nodes (
    level INTEGER NOT NULL,
    number INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    PRIMARY KEY (level, number)
) STRICT, WITHOUT ROWID;

-- The policies whose digests receipts and records name: each from the moment it came into force.
CREATE TABLE policy_changes (
    id INTEGER PRIMARY KEY,
    policy_digest TEXT NOT NULL,
    previous TEXT,
    policy TEXT NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT;

-- That a producer asked for a durable write, once an hour at most.
CREATE TABLE direct_writes (
    id INTEGER PRIMARY KEY,
    producer_identity TEXT NOT NULL,
    hour INTEGER NOT NULL,
    asked_at INTEGER NOT NULL,
    UNIQUE (producer_identity, hour)
) STRICT;

CREATE TABLE exports (
    id INTEGER PRIMARY KEY,
    export_id TEXT NOT NULL UNIQUE,
    exported TEXT NOT NULL CHECK (exported IN ('log', 'review-records', 'dispositions')),
    format TEXT NOT NULL CHECK (format IN ('jsonl', 'csv')),
    filters TEXT NOT NULL,
    -- The size of the tree whose checkpoint it names.
    size INTEGER NOT NULL,
    actor TEXT NOT NULL,
    role TEXT NOT NULL,
    exported_at INTEGER NOT NULL
) STRICT;

CREATE TABLE erasures (
    id INTEGER PRIMARY KEY,
    erasure_id TEXT NOT NULL UNIQUE,
    proposal INTEGER UNIQUE REFERENCES proposals (id),
    quarantine INTEGER UNIQUE REFERENCES quarantine (id),
    reason_code TEXT NOT NULL,
    erased_at INTEGER NOT NULL,
    CHECK ((proposal IS NULL) = (quarantine IS NOT NULL))
) STRICT;

-- Who set a password of whom; never the password.
CREATE TABLE password_changes (
    id INTEGER PRIMARY KEY,
    password_change_id TEXT NOT NULL UNIQUE,
    "user" INTEGER NOT NULL REFERENCES users (id),
    -- BLAKE3 of the hash that the account has since then; the hash has a salt of its own.
    password_digest TEXT NOT NULL,
    actor TEXT NOT NULL,
    role TEXT NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT;

CREATE TRIGGER log_keys_are_final BEFORE UPDATE ON log_keys
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER log_keys_stay BEFORE DELETE ON log_keys
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER checkpoints_are_final BEFORE UPDATE ON checkpoints
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER checkpoints_stay BEFORE DELETE ON checkpoints
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;
CREATE TRIGGER policy_changes_are_final BEFORE UPDATE ON policy_changes
BEGIN SELECT RAISE(ABORT, 'what was recorded of the policy stays'); END;
CREATE TRIGGER policy_changes_stay BEFORE DELETE ON policy_changes
BEGIN SELECT RAISE(ABORT, 'what was recorded of the policy stays'); END;
CREATE TRIGGER exports_are_final BEFORE UPDATE ON exports
BEGIN SELECT RAISE(ABORT, 'what was recorded of exports stays'); END;
CREATE TRIGGER exports_stay BEFORE DELETE ON exports
BEGIN SELECT RAISE(ABORT, 'what was recorded of exports stays'); END;
CREATE TRIGGER password_changes_are_final BEFORE UPDATE ON password_changes
BEGIN SELECT RAISE(ABORT, 'what was recorded of passwords stays'); END;
CREATE TRIGGER password_changes_stay BEFORE DELETE ON password_changes
BEGIN SELECT RAISE(ABORT, 'what was recorded of passwords stays'); END;
CREATE TRIGGER erasures_are_final BEFORE UPDATE ON erasures
BEGIN SELECT RAISE(ABORT, 'what was erased stays erased'); END;
CREATE TRIGGER erasures_stay BEFORE DELETE ON erasures
BEGIN SELECT RAISE(ABORT, 'what was erased stays erased'); END;

-- A text goes only with its erasure on record, and all that may take its place is the mark of it.
CREATE TRIGGER review_records_lose_their_text
BEFORE UPDATE OF shown, resulting, reason_text ON review_records
WHEN NEW.shown <> '{"content":"(erased)","kind":"erased"}'
    OR (NEW.resulting IS NOT NULL AND NEW.resulting <> '{"content":"(erased)","kind":"erased"}')
    OR (NEW.resulting IS NULL) <> (OLD.resulting IS NULL)
    OR NEW.reason_text NOT IN ('', '(erased)')
    OR NOT EXISTS (SELECT 1 FROM erasures WHERE proposal IS OLD.proposal AND quarantine IS OLD.quarantine)
BEGIN SELECT RAISE(ABORT, 'review records are append-only'); END;

CREATE TRIGGER reveals_lose_their_text
BEFORE UPDATE OF reason_text ON reveals
WHEN NEW.reason_text <> '(erased)' OR NOT EXISTS (SELECT 1 FROM erasures WHERE quarantine = OLD.quarantine)
BEGIN SELECT RAISE(ABORT, 'what was revealed stays on record'); END;

CREATE TRIGGER memories_lose_their_text
BEFORE UPDATE OF payload, source_span, supersedes, derived_from ON memories
WHEN NEW.payload <> '{"content":"(erased)","kind":"erased"}' OR NEW.source_span <> '{"uri":"erased:"}'
    OR NEW.supersedes IS NOT NULL OR NEW.derived_from IS NOT NULL OR OLD.state = 'active'
    OR NOT EXISTS (SELECT 1 FROM erasures WHERE proposal = OLD.proposal)
BEGIN SELECT RAISE(ABORT, 'what a memory says never changes'); END;

CREATE TRIGGER proposals_keep_their_event
BEFORE UPDATE OF payload, source_span, supersedes, derived_from ON proposals
WHEN NEW.payload <> '{"content":"(erased)","kind":"erased"}' OR NEW.source_span <> '{"uri":"erased:"}'
    OR NEW.supersedes IS NOT NULL OR NEW.derived_from IS NOT NULL OR OLD.state = 'pending'
    OR NOT EXISTS (SELECT 1 FROM erasures WHERE proposal = OLD.id)
BEGIN SELECT RAISE(ABORT, 'what was proposed never changes'); END;

-- The salt that proved the columns of its receipt goes with the text, so the receipt itself is stored then.
CREATE TRIGGER submissions_keep_their_receipt
BEFORE UPDATE OF receipt ON submissions
WHEN OLD.receipt IS NOT NULL OR NEW.receipt IS NULL OR NOT EXISTS (SELECT 1 FROM erasures WHERE proposal = OLD.id)
BEGIN SELECT RAISE(ABORT, 'a submission and its receipt never change'); END;

CREATE TRIGGER quarantine_keeps_its_event
BEFORE UPDATE OF payload, source_span, supersedes, derived_from ON quarantine
WHEN NEW.payload IS NOT NULL OR NEW.source_span IS NOT NULL OR NEW.supersedes IS NOT NULL OR NEW.derived_from IS NOT NULL
    OR NOT EXISTS (SELECT 1 FROM erasures WHERE quarantine = OLD.id)
BEGIN SELECT RAISE(ABORT, 'a refused event never changes'); END;
