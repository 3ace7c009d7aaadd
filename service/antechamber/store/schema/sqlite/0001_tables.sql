-- Integer keys inside, public ids outside. Times are microseconds since 1970 UTC, JSON is canonical text.

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Running servers, where several share the store: which policy each of them enforces.
CREATE TABLE processes (
    process_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    policy_digest TEXT,
    seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE producers (
    id INTEGER PRIMARY KEY,
    producer_identity TEXT NOT NULL UNIQUE
) STRICT;

-- The policies that submissions name, under short keys.
CREATE TABLE policies (
    id INTEGER PRIMARY KEY,
    policy_digest TEXT NOT NULL UNIQUE
) STRICT;

-- One row of the queue: a proposal and its near duplicates. Pending folds are ordered by rank, turn and id.
CREATE TABLE folds (
    id INTEGER PRIMARY KEY,
    submission_scope TEXT NOT NULL,
    scope_id TEXT NOT NULL,
    producer INTEGER NOT NULL REFERENCES producers (id),
    kind TEXT NOT NULL,
    content TEXT NOT NULL,
    pending INTEGER NOT NULL CHECK (pending >= 0),
    rank INTEGER NOT NULL,
    turn INTEGER NOT NULL
) STRICT;

CREATE INDEX folds_in_line ON folds (rank, turn, id) WHERE pending > 0;
CREATE INDEX folds_of_producer ON folds (producer, rank, turn) WHERE pending > 0;
CREATE INDEX folds_of_scope ON folds (submission_scope, scope_id, id) WHERE pending > 0;

-- A proposal has the integer key of the submission that made it, which is why there is only one of these.
CREATE TABLE proposals (
    id INTEGER PRIMARY KEY,
    proposal_id TEXT NOT NULL UNIQUE,
    producer INTEGER NOT NULL REFERENCES producers (id),
    owner TEXT NOT NULL,
    submission_scope TEXT NOT NULL,
    scope_id TEXT NOT NULL,
    source_event_hash BLOB NOT NULL,
    payload TEXT NOT NULL,
    edited_payload TEXT,
    source_span TEXT NOT NULL,
    visibility TEXT,
    supersedes TEXT,
    derived_from TEXT,
    observed_at INTEGER,
    received_at INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'approved', 'rejected')),
    version INTEGER NOT NULL DEFAULT 1,
    withdrawn INTEGER NOT NULL DEFAULT 0 CHECK (withdrawn IN (0, 1)),
    decided_at INTEGER,
    -- Whether one person has approved and another is needed, whether one asked for another, and the memory that this text is to supersede.
    begun INTEGER NOT NULL DEFAULT 0 CHECK (begun IN (0, 1)),
    second INTEGER NOT NULL DEFAULT 0 CHECK (second IN (0, 1)),
    replaces INTEGER REFERENCES memories (id),
    -- The fold that represents it in the queue, once it is sorted.
    fold INTEGER REFERENCES folds (id),
    -- The person who redacted a sealed event into this text, if one did.
    redacted_by TEXT,
    UNIQUE (submission_scope, scope_id, source_event_hash)
) STRICT;

CREATE INDEX proposals_pending ON proposals (fold, id) WHERE state = 'pending';
CREATE INDEX proposals_for_second ON proposals (id) WHERE state = 'pending' AND (begun = 1 OR second = 1);

CREATE TRIGGER proposals_keep_their_redactor
BEFORE UPDATE OF redacted_by ON proposals
BEGIN SELECT RAISE(ABORT, 'the redactor of a proposal never changes'); END;

-- Who is looking at what. A claim is a courtesy with an end; what guards a decision is the proposal's version.
CREATE TABLE claims (
    proposal INTEGER PRIMARY KEY REFERENCES proposals (id),
    person TEXT NOT NULL,
    until INTEGER NOT NULL
) STRICT;

CREATE INDEX claims_by_end ON claims (until);

CREATE TABLE submissions (
    id INTEGER PRIMARY KEY,
    submission_id TEXT NOT NULL UNIQUE,
    producer INTEGER NOT NULL REFERENCES producers (id),
    idempotency_key TEXT NOT NULL,
    disposition TEXT NOT NULL CHECK (
        disposition IN ('accepted-for-review', 'accepted-as-duplicate', 'rejected-private', 'rejected-invalid')
    ),
    reason_code TEXT,
    status INTEGER NOT NULL,
    submission_scope TEXT,
    scope_id TEXT,
    source_event_hash BLOB,
    visibility TEXT,
    fingerprint BLOB,
    keyed INTEGER NOT NULL CHECK (keyed IN (0, 1)),
    channel TEXT NOT NULL CHECK (channel IN ('http', 'batch', 'mcp')),
    proposal INTEGER REFERENCES proposals (id),
    duplicate_of INTEGER REFERENCES submissions (id),
    policy INTEGER NOT NULL REFERENCES policies (id),
    received_at INTEGER NOT NULL,
    -- NULL if it was accepted for review and not erased: its receipt is formed from its columns.
    receipt TEXT,
    replays INTEGER NOT NULL DEFAULT 0,
    UNIQUE (producer, idempotency_key),
    CHECK (disposition <> 'rejected-private' OR (keyed = 1 AND source_event_hash IS NULL)),
    CHECK ((disposition IN ('accepted-for-review', 'accepted-as-duplicate')) = (proposal IS NOT NULL)),
    CHECK ((disposition = 'accepted-for-review') = (proposal IS NOT NULL AND proposal = id)),
    CHECK (receipt IS NOT NULL OR disposition = 'accepted-for-review')
) STRICT;

CREATE INDEX submissions_joined ON submissions (proposal) WHERE disposition = 'accepted-as-duplicate';
CREATE INDEX submissions_in_session ON submissions (producer, scope_id)
    WHERE submission_scope = 'session' AND proposal IS NOT NULL;

CREATE TRIGGER submissions_are_final
BEFORE UPDATE OF id, submission_id, producer, idempotency_key, disposition, reason_code, status, submission_scope, scope_id,
    source_event_hash, fingerprint, keyed, channel, proposal, duplicate_of, policy, received_at ON submissions
BEGIN SELECT RAISE(ABORT, 'a submission and its receipt never change'); END;

CREATE TRIGGER policies_are_final
BEFORE UPDATE ON policies
BEGIN SELECT RAISE(ABORT, 'a submission names its policy for ever'); END;

CREATE TRIGGER submissions_stay
BEFORE DELETE ON submissions
BEGIN SELECT RAISE(ABORT, 'a submission is kept for ever'); END;

CREATE TABLE evidence (
    id INTEGER PRIMARY KEY,
    proposal INTEGER NOT NULL REFERENCES proposals (id),
    submission INTEGER NOT NULL UNIQUE REFERENCES submissions (id),
    producer INTEGER NOT NULL REFERENCES producers (id),
    owner TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    UNIQUE (proposal, producer)
) STRICT;

CREATE TABLE quarantine (
    id INTEGER PRIMARY KEY,
    quarantine_id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('conflict', 'private')),
    submission INTEGER NOT NULL REFERENCES submissions (id),
    producer INTEGER NOT NULL REFERENCES producers (id),
    fingerprint BLOB NOT NULL,
    keyed INTEGER NOT NULL CHECK (keyed IN (0, 1)),
    source_event_hash BLOB,
    submission_scope TEXT,
    scope_id TEXT,
    visibility TEXT,
    supersedes TEXT,
    derived_from TEXT,
    payload TEXT,
    source_span TEXT,
    findings TEXT NOT NULL,
    -- Who answered for the producer when the event was refused.
    owner TEXT NOT NULL,
    policy_digest TEXT NOT NULL,
    received_at INTEGER NOT NULL,
    answer TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'settled')),
    UNIQUE (submission, fingerprint),
    -- What is private keeps neither its text nor a hash that could be guessed from it.
    CHECK (keyed = 0 OR (payload IS NULL AND source_span IS NULL AND source_event_hash IS NULL AND supersedes IS NULL
        AND derived_from IS NULL))
) STRICT;

CREATE INDEX quarantine_waiting ON quarantine (producer) WHERE state = 'waiting';

-- Private events that are kept for redaction: AES-GCM under a data key of their own, which a key outside the database
-- wraps. Ciphertext and wrapped key end together, and nothing brings them back.
CREATE TABLE sealed_events (
    quarantine INTEGER PRIMARY KEY REFERENCES quarantine (id),
    ciphertext BLOB,
    wrapped_key BLOB,
    -- Identifies the key that wraps, without revealing it.
    key_check TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    ended_at INTEGER,
    expired INTEGER NOT NULL DEFAULT 0 CHECK (expired IN (0, 1)),
    CHECK ((ciphertext IS NULL) = (wrapped_key IS NULL)),
    CHECK ((ended_at IS NULL) = (wrapped_key IS NOT NULL)),
    CHECK (expired = 0 OR ended_at IS NOT NULL)
) STRICT;

CREATE INDEX sealed_events_by_end ON sealed_events (expires_at) WHERE ended_at IS NULL;

CREATE TRIGGER sealed_events_are_private
BEFORE INSERT ON sealed_events
WHEN NEW.ended_at IS NOT NULL OR NOT EXISTS (
    SELECT 1 FROM quarantine
    WHERE id = NEW.quarantine AND kind = 'private' AND state = 'waiting' AND coalesce(visibility, 'shareable') <> 'private'
) OR EXISTS (SELECT 1 FROM sealed_events WHERE quarantine = NEW.quarantine)
BEGIN SELECT RAISE(ABORT, 'only a private event that waits is sealed, and only once'); END;

CREATE TRIGGER sealed_events_only_end
BEFORE UPDATE ON sealed_events
WHEN OLD.ended_at IS NOT NULL OR NEW.ended_at IS NULL OR NEW.quarantine <> OLD.quarantine
    OR NEW.key_check <> OLD.key_check OR NEW.expires_at <> OLD.expires_at
BEGIN SELECT RAISE(ABORT, 'a sealed event only ends, and only once'); END;

CREATE TRIGGER sealed_events_stay
BEFORE DELETE ON sealed_events
BEGIN SELECT RAISE(ABORT, 'that an event was sealed stays on record'); END;

CREATE TRIGGER quarantine_settles_without_a_sealed_text
BEFORE UPDATE OF state ON quarantine
WHEN NEW.state = 'settled' AND EXISTS (SELECT 1 FROM sealed_events WHERE quarantine = NEW.id AND ended_at IS NULL)
BEGIN SELECT RAISE(ABORT, 'a settled event keeps no sealed text'); END;

-- The log: leaves in the order of the tree, the first at 0, each written in the transaction of its change. A text is
-- committed to with a salt; the salt is deleted when the text is erased.
CREATE TABLE log_leaves (
    id INTEGER PRIMARY KEY,
    leaf TEXT NOT NULL,
    -- What it is about: the integer key of a submission, or the public id or name of anything else.
    submission INTEGER,
    subject TEXT,
    salt BLOB,
    CHECK ((submission IS NULL) = (subject IS NOT NULL))
) STRICT;

CREATE UNIQUE INDEX log_leaves_of_submission ON log_leaves (submission) WHERE submission IS NOT NULL;
CREATE INDEX log_leaves_of_subject ON log_leaves (subject, id) WHERE subject IS NOT NULL;

-- Also against REPLACE: a place that is taken is not the next one.
CREATE TRIGGER log_leaves_follow_each_other
BEFORE INSERT ON log_leaves
WHEN NEW.id <> (SELECT coalesce(max(id) + 1, 0) FROM log_leaves)
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;

CREATE TRIGGER log_leaves_are_final
BEFORE UPDATE ON log_leaves
WHEN NEW.id IS NOT OLD.id OR NEW.leaf IS NOT OLD.leaf OR NEW.submission IS NOT OLD.submission
    OR NEW.subject IS NOT OLD.subject OR NEW.salt IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;

CREATE TRIGGER log_leaves_stay
BEFORE DELETE ON log_leaves
BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END;

CREATE TABLE replays (
    producer INTEGER NOT NULL REFERENCES producers (id),
    hour INTEGER NOT NULL,
    channel TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    PRIMARY KEY (producer, hour, channel)
) STRICT, WITHOUT ROWID;

-- What happened, by hour, producer and channel (empty for decisions), kept up in the transaction in which it happens; processes count in lanes of their
-- own, so that they do not wait for each other.
CREATE TABLE tally (
    hour INTEGER NOT NULL,
    producer INTEGER NOT NULL,
    name TEXT NOT NULL,
    channel TEXT NOT NULL,
    lane INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (hour, producer, name, channel, lane)
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    person TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('curator', 'auditor', 'operator')),
    password TEXT,
    shortcuts TEXT,
    views TEXT,
    created_at INTEGER NOT NULL,
    disabled_at INTEGER
) STRICT;

CREATE TABLE review_records (
    id INTEGER PRIMARY KEY,
    review_record_id TEXT NOT NULL UNIQUE,
    proposal INTEGER REFERENCES proposals (id),
    quarantine INTEGER REFERENCES quarantine (id),
    version INTEGER NOT NULL,
    resulting_version INTEGER NOT NULL,
    decision TEXT NOT NULL CHECK (
        decision IN (
            'approve', 'edit', 'supersede', 'reject', 'merge', 'flag', 'undo', 'retract', 'expire', 'keep', 'open', 'dismiss',
            'release', 'destroy', 'clear'
        )
    ),
    reason_code TEXT,
    reason_text TEXT NOT NULL,
    curator INTEGER NOT NULL REFERENCES users (id),
    person TEXT NOT NULL,
    shown TEXT NOT NULL,
    shown_hash TEXT NOT NULL,
    resulting TEXT,
    resulting_hash TEXT,
    approvals_required INTEGER NOT NULL CHECK (approvals_required BETWEEN 1 AND 2),
    -- The memory that the decision names, and the record that it takes back.
    target INTEGER REFERENCES memories (id),
    undoes INTEGER UNIQUE REFERENCES review_records (id),
    decision_key TEXT NOT NULL UNIQUE,
    policy_digest TEXT NOT NULL,
    decided_at INTEGER NOT NULL,
    UNIQUE (id, proposal, resulting_version, resulting_hash),
    CHECK (quarantine IS NOT NULL OR decision NOT IN ('keep', 'open', 'dismiss', 'release', 'destroy', 'clear')),
    CHECK (proposal IS NOT NULL OR decision IN ('keep', 'open', 'dismiss', 'release', 'destroy', 'clear', 'undo')),
    UNIQUE (quarantine, version),
    CHECK ((proposal IS NULL) = (quarantine IS NOT NULL)),
    CHECK (
        decision IN ('approve', 'supersede', 'flag', 'undo', 'keep', 'open', 'dismiss', 'release', 'destroy', 'clear')
        OR reason_code IS NOT NULL
    ),
    CHECK (decision NOT IN ('edit', 'flag') OR approvals_required = 2),
    CHECK ((decision IN ('approve', 'edit', 'supersede')) = (resulting IS NOT NULL)),
    CHECK (decision NOT IN ('supersede', 'merge') OR target IS NOT NULL),
    CHECK ((decision = 'undo') = (undoes IS NOT NULL)),
    CHECK ((resulting IS NULL) = (resulting_hash IS NULL))
) STRICT;

CREATE INDEX review_records_of_proposal ON review_records (proposal, id);
CREATE INDEX review_records_by_time ON review_records (decided_at, id);
CREATE INDEX review_records_by_text ON review_records (shown_hash);

-- REPLACE deletes without firing delete triggers on a connection that leaves recursive_triggers off.
CREATE TRIGGER review_records_are_not_replaced
BEFORE INSERT ON review_records
WHEN EXISTS (
    SELECT 1 FROM review_records
    WHERE id = NEW.id OR review_record_id = NEW.review_record_id OR decision_key = NEW.decision_key
)
BEGIN SELECT RAISE(ABORT, 'review records are append-only'); END;

CREATE TRIGGER review_records_name_the_person
BEFORE INSERT ON review_records
WHEN NOT EXISTS (
    SELECT 1 FROM users WHERE id = NEW.curator AND person = NEW.person AND role = 'curator' AND disabled_at IS NULL
)
BEGIN SELECT RAISE(ABORT, 'only a curator may decide, and only in person'); END;

CREATE TRIGGER review_records_of_a_redactor_need_another_person
BEFORE INSERT ON review_records
WHEN NEW.decision IN ('approve', 'edit', 'supersede') AND NEW.approvals_required < 2
    AND EXISTS (SELECT 1 FROM proposals WHERE id = NEW.proposal AND redacted_by = NEW.person)
BEGIN SELECT RAISE(ABORT, 'the redactor of a text is never its only approver'); END;

CREATE TRIGGER review_records_undo_their_own
BEFORE INSERT ON review_records
WHEN NEW.undoes IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM review_records
    WHERE id = NEW.undoes AND proposal IS NEW.proposal AND quarantine IS NEW.quarantine AND decision <> 'undo'
)
BEGIN SELECT RAISE(ABORT, 'a decision takes back one of the same proposal or refused event'); END;

-- Each span of a sealed event that a curator looked at, and why; never what it says.
CREATE TABLE reveals (
    id INTEGER PRIMARY KEY,
    reveal_id TEXT NOT NULL UNIQUE,
    quarantine INTEGER NOT NULL REFERENCES quarantine (id),
    pointer TEXT NOT NULL,
    rule_ids TEXT NOT NULL,
    span INTEGER NOT NULL CHECK (span >= 1),
    reason_text TEXT NOT NULL CHECK (reason_text <> ''),
    curator INTEGER NOT NULL REFERENCES users (id),
    person TEXT NOT NULL,
    decision_key TEXT NOT NULL UNIQUE,
    policy_digest TEXT NOT NULL,
    revealed_at INTEGER NOT NULL
) STRICT;

CREATE INDEX reveals_of_quarantine ON reveals (quarantine, id);

CREATE TRIGGER reveals_are_of_sealed_events
BEFORE INSERT ON reveals
WHEN NOT EXISTS (SELECT 1 FROM sealed_events WHERE quarantine = NEW.quarantine AND ended_at IS NULL)
    OR NOT EXISTS (
        SELECT 1 FROM users WHERE id = NEW.curator AND person = NEW.person AND role = 'curator' AND disabled_at IS NULL
    )
    OR EXISTS (
        SELECT 1 FROM reveals WHERE id = NEW.id OR reveal_id = NEW.reveal_id OR decision_key = NEW.decision_key
    )
BEGIN SELECT RAISE(ABORT, 'only a curator reveals a span, and only of a sealed event'); END;

CREATE TRIGGER reveals_are_final
BEFORE UPDATE OF id, reveal_id, quarantine, pointer, rule_ids, span, curator, person, decision_key, policy_digest, revealed_at
    ON reveals
BEGIN SELECT RAISE(ABORT, 'what was revealed stays on record'); END;

CREATE TRIGGER reveals_stay
BEFORE DELETE ON reveals
BEGIN SELECT RAISE(ABORT, 'what was revealed stays on record'); END;

CREATE TRIGGER review_records_are_final
BEFORE UPDATE OF id, review_record_id, proposal, quarantine, version, resulting_version, decision, reason_code, curator, person,
    shown_hash, resulting_hash, approvals_required, target, undoes, decision_key, policy_digest, decided_at ON review_records
BEGIN SELECT RAISE(ABORT, 'review records are append-only'); END;

CREATE TRIGGER review_records_stay
BEFORE DELETE ON review_records
BEGIN SELECT RAISE(ABORT, 'review records are append-only'); END;

CREATE TRIGGER quarantine_follows_its_records
BEFORE UPDATE OF state ON quarantine
WHEN NEW.state IS NOT coalesce((
    SELECT CASE WHEN decision = 'undo' THEN 'waiting' ELSE 'settled' END
    FROM review_records WHERE quarantine = NEW.id ORDER BY version DESC LIMIT 1
), 'waiting')
BEGIN SELECT RAISE(ABORT, 'the state of a refused event is that of its last decision'); END;

CREATE TABLE memories (
    id INTEGER PRIMARY KEY,
    memory_id TEXT NOT NULL UNIQUE,
    proposal INTEGER NOT NULL REFERENCES proposals (id),
    version INTEGER NOT NULL,
    review_record INTEGER NOT NULL,
    payload TEXT NOT NULL,
    text_hash TEXT NOT NULL,
    submission_scope TEXT NOT NULL,
    scope_id TEXT NOT NULL,
    source_span TEXT NOT NULL,
    supersedes TEXT,
    derived_from TEXT,
    state TEXT NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'superseded', 'retracted', 'expired')),
    -- What it superseded by the curators' decision; the column before holds what the producer claimed.
    replaces INTEGER REFERENCES memories (id),
    admitted_at INTEGER NOT NULL,
    UNIQUE (proposal, version),
    FOREIGN KEY (review_record, proposal, version, text_hash)
        REFERENCES review_records (id, proposal, resulting_version, resulting_hash)
) STRICT;

CREATE INDEX memories_of_scope ON memories (submission_scope, scope_id, id) WHERE state = 'active';

CREATE INDEX memories_by_scope ON memories (submission_scope, scope_id, id);
CREATE INDEX memories_of_record ON memories (review_record);

CREATE TRIGGER memories_are_not_replaced
BEFORE INSERT ON memories
WHEN EXISTS (
    SELECT 1 FROM memories
    WHERE id = NEW.id OR memory_id = NEW.memory_id OR (proposal = NEW.proposal AND version = NEW.version)
)
BEGIN SELECT RAISE(ABORT, 'memories are not replaced'); END;

CREATE TRIGGER memories_need_their_approvals
BEFORE INSERT ON memories
WHEN NOT EXISTS (
    SELECT count(*)
    FROM review_records AS approval
    WHERE approval.proposal = NEW.proposal
        AND approval.resulting_version = NEW.version
        AND approval.decision IN ('approve', 'edit', 'supersede')
        AND approval.resulting = NEW.payload
        AND approval.resulting_hash = NEW.text_hash
    HAVING count(DISTINCT approval.person) >= max(approval.approvals_required)
)
BEGIN SELECT RAISE(ABORT, 'a memory needs the approvals of its very text'); END;

CREATE TRIGGER memories_match_their_proposal
BEFORE INSERT ON memories
WHEN NEW.state <> 'active' OR NOT EXISTS (
    SELECT 1 FROM proposals
    WHERE id = NEW.proposal AND version = NEW.version AND state = 'approved' AND withdrawn = 0
        AND submission_scope = NEW.submission_scope AND scope_id = NEW.scope_id AND source_span = NEW.source_span
        AND replaces IS NEW.replaces
)
BEGIN SELECT RAISE(ABORT, 'a memory belongs to the scope and source of its approved proposal'); END;

CREATE TRIGGER memories_are_final
BEFORE UPDATE OF id, memory_id, proposal, version, review_record, text_hash, submission_scope, scope_id, replaces,
    admitted_at ON memories
BEGIN SELECT RAISE(ABORT, 'what a memory says never changes'); END;

-- Every state that a memory ever had, each by the decision that brought it about.
CREATE TABLE memory_changes (
    id INTEGER PRIMARY KEY,
    memory INTEGER NOT NULL REFERENCES memories (id),
    state TEXT NOT NULL CHECK (state IN ('active', 'superseded', 'retracted', 'expired')),
    review_record INTEGER NOT NULL REFERENCES review_records (id),
    changed_at INTEGER NOT NULL,
    UNIQUE (memory, review_record)
) STRICT;

CREATE TRIGGER memory_changes_are_not_replaced
BEFORE INSERT ON memory_changes
WHEN EXISTS (
    SELECT 1 FROM memory_changes
    WHERE id = NEW.id OR (memory = NEW.memory AND review_record = NEW.review_record)
)
BEGIN SELECT RAISE(ABORT, 'changes of memories are append-only'); END;

CREATE TRIGGER memory_changes_need_their_decision
BEFORE INSERT ON memory_changes
WHEN NOT EXISTS (
    SELECT 1
    FROM memories AS m
    JOIN review_records AS r ON r.id = NEW.review_record
    LEFT JOIN proposals AS p ON p.id = r.proposal
    LEFT JOIN memory_changes AS last
        ON last.id = (SELECT max(c.id) FROM memory_changes AS c WHERE c.memory = NEW.memory)
    WHERE m.id = NEW.memory AND CASE
        WHEN last.id IS NULL THEN NEW.state = 'active' AND r.id = m.review_record
        WHEN NEW.state = 'active' THEN last.state <> 'active' AND r.decision = 'undo' AND r.undoes = last.review_record
        WHEN last.state <> 'active' THEN FALSE
        WHEN NEW.state = 'superseded' THEN
            r.decision IN ('approve', 'edit', 'supersede') AND p.state = 'approved' AND p.replaces = m.id
        WHEN NEW.state = 'expired' THEN r.decision = 'expire' AND r.proposal = m.proposal
        ELSE r.proposal = m.proposal AND (
            r.decision = 'retract' OR (r.decision = 'undo' AND r.undoes = m.review_record)
        )
    END
)
BEGIN SELECT RAISE(ABORT, 'a memory changes only by the decision that says so'); END;

CREATE TRIGGER memory_changes_are_final
BEFORE UPDATE ON memory_changes
BEGIN SELECT RAISE(ABORT, 'changes of memories are append-only'); END;

CREATE TRIGGER memory_changes_stay
BEFORE DELETE ON memory_changes
BEGIN SELECT RAISE(ABORT, 'changes of memories are append-only'); END;

CREATE TRIGGER memories_follow_their_changes
BEFORE UPDATE OF state ON memories
WHEN NEW.state IS NOT (SELECT state FROM memory_changes WHERE memory = NEW.id ORDER BY id DESC LIMIT 1)
BEGIN SELECT RAISE(ABORT, 'the state of a memory is that of its last change'); END;

CREATE TRIGGER memories_stay
BEFORE DELETE ON memories
BEGIN SELECT RAISE(ABORT, 'memories are not deleted'); END;

-- What the desk searches: words only, as core.search_terms forms them: the tokenizer has nothing left to fold. Filled by
-- the statement index_memory: under trusted_schema=OFF no trigger may write to a virtual table.
CREATE VIRTUAL TABLE memories_search USING fts5 (words, content='', tokenize='ascii');

-- What agents search: the terms of active memories, as core.search.terms forms them, with statistics for each scope alone, so
-- that no answer depends on a scope that is not read. `length` is the number of terms of a memory, or of all in a scope.
CREATE TABLE search_scopes (
    id INTEGER PRIMARY KEY,
    submission_scope TEXT NOT NULL,
    scope_id TEXT NOT NULL,
    memories INTEGER NOT NULL,
    length INTEGER NOT NULL,
    UNIQUE (submission_scope, scope_id)
) STRICT;

CREATE TABLE search_terms (
    id INTEGER PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES search_scopes (id),
    term TEXT NOT NULL,
    memories INTEGER NOT NULL,
    UNIQUE (scope, term)
) STRICT;

CREATE TABLE search_postings (
    term INTEGER NOT NULL,
    memory INTEGER NOT NULL,
    frequency INTEGER NOT NULL,
    length INTEGER NOT NULL,
    PRIMARY KEY (term, memory)
) STRICT, WITHOUT ROWID;

-- The vocabulary with which words that hold a typing error are compared; reversed to find words by their end.
CREATE TABLE search_words (
    scope INTEGER NOT NULL REFERENCES search_scopes (id),
    word TEXT NOT NULL,
    reversed TEXT NOT NULL,
    term TEXT NOT NULL,
    memories INTEGER NOT NULL,
    PRIMARY KEY (scope, word)
) STRICT, WITHOUT ROWID;

CREATE INDEX search_words_by_end ON search_words (scope, reversed);

CREATE TABLE tokens (
    id INTEGER PRIMARY KEY,
    token_id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('producer', 'reader', 'auditor')),
    read TEXT NOT NULL,
    digest TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER
) STRICT;

CREATE TABLE links (
    digest TEXT PRIMARY KEY,
    "user" INTEGER NOT NULL REFERENCES users (id),
    expires_at INTEGER NOT NULL,
    used_at INTEGER,
    -- BLAKE3 of what was written at the beginning, keyed with the folder's secret; and whether the end is in the log.
    proof TEXT NOT NULL,
    logged INTEGER NOT NULL DEFAULT 0 CHECK (logged IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
    digest TEXT PRIMARY KEY,
    "user" INTEGER NOT NULL REFERENCES users (id),
    created_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    ended_at INTEGER,
    proof TEXT NOT NULL,
    logged INTEGER NOT NULL DEFAULT 0 CHECK (logged IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_of_user ON sessions ("user");

CREATE TABLE sign_in_failures (
    id INTEGER PRIMARY KEY,
    subject TEXT NOT NULL,
    failed_at INTEGER NOT NULL
) STRICT;

CREATE INDEX sign_in_failures_of_subject ON sign_in_failures (subject, failed_at);
