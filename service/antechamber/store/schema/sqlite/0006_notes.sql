-- What is said about a proposal while it waits: notes, questions to its producer, answers, and whom it is assigned to.
-- Each row is a record with a leaf; none of them can make a memory.
CREATE TABLE notes (
    id INTEGER PRIMARY KEY,
    note_id TEXT NOT NULL UNIQUE,
    proposal INTEGER NOT NULL REFERENCES proposals (id),
    kind TEXT NOT NULL CHECK (kind IN ('note', 'question', 'answer', 'assignment')),
    -- Who wrote it: a curator, or the proposal's producer.
    curator INTEGER REFERENCES users (id),
    person TEXT,
    producer INTEGER REFERENCES producers (id),
    text TEXT NOT NULL CHECK ((text = '') = (kind = 'assignment')),
    -- JSON: the persons whom the text mentions, or the one to whom the proposal is assigned.
    persons TEXT NOT NULL,
    question INTEGER UNIQUE REFERENCES notes (id),
    -- The producer's idempotency key, or the one-time key of a curator's form.
    note_key TEXT NOT NULL,
    policy_digest TEXT NOT NULL,
    written_at INTEGER NOT NULL,
    CHECK ((curator IS NULL) = (person IS NULL) AND (curator IS NULL) = (producer IS NOT NULL)),
    CHECK ((kind = 'answer') = (question IS NOT NULL)),
    CHECK (producer IS NULL OR kind IN ('note', 'answer')),
    CHECK (curator IS NULL OR kind <> 'answer'),
    UNIQUE (producer, note_key)
) STRICT;

CREATE INDEX notes_of_proposal ON notes (proposal, id);
CREATE UNIQUE INDEX notes_of_form ON notes (note_key) WHERE curator IS NOT NULL;

-- Whose turn it is, for the queue: a waiting proposal whose producer was asked and has not answered yet, and the persons
-- who should look at one. Both follow from the notes; they end with a decision.
CREATE TABLE open_questions (
    proposal INTEGER PRIMARY KEY REFERENCES proposals (id),
    question INTEGER NOT NULL UNIQUE REFERENCES notes (id)
) STRICT;

CREATE TABLE attention (
    proposal INTEGER NOT NULL REFERENCES proposals (id),
    person TEXT NOT NULL,
    cause TEXT NOT NULL CHECK (cause IN ('assigned', 'answered', 'mentioned')),
    PRIMARY KEY (proposal, person, cause)
) STRICT, WITHOUT ROWID;

CREATE INDEX attention_of_person ON attention (person, proposal, cause);
CREATE UNIQUE INDEX attention_of_assignee ON attention (proposal) WHERE cause = 'assigned';

-- Also against REPLACE, which deletes without a trigger.
CREATE TRIGGER notes_are_of_waiting_proposals
BEFORE INSERT ON notes
WHEN NOT EXISTS (SELECT 1 FROM proposals WHERE id = NEW.proposal AND state = 'pending')
    OR (NEW.curator IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM users WHERE id = NEW.curator AND person = NEW.person AND role = 'curator' AND disabled_at IS NULL
    ))
    OR (NEW.producer IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM proposals WHERE id = NEW.proposal AND producer = NEW.producer
    ))
    OR (NEW.question IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM notes WHERE id = NEW.question AND proposal = NEW.proposal AND kind = 'question'
    ))
    OR EXISTS (
        SELECT 1 FROM notes WHERE id = NEW.id OR note_id = NEW.note_id OR question = NEW.question
            OR (note_key = NEW.note_key AND producer IS NEW.producer)
    )
BEGIN SELECT RAISE(ABORT, 'only a curator or its producer writes a note, and only on a waiting proposal'); END;

CREATE TRIGGER notes_are_final
BEFORE UPDATE OF id, note_id, proposal, kind, curator, person, producer, persons, question, note_key, policy_digest, written_at
    ON notes
BEGIN SELECT RAISE(ABORT, 'notes are append-only'); END;

CREATE TRIGGER notes_lose_their_text
BEFORE UPDATE OF text ON notes
WHEN NEW.text <> '(erased)' OR NOT EXISTS (SELECT 1 FROM erasures WHERE proposal = OLD.proposal)
BEGIN SELECT RAISE(ABORT, 'notes are append-only'); END;

CREATE TRIGGER notes_stay
BEFORE DELETE ON notes
BEGIN SELECT RAISE(ABORT, 'notes are append-only'); END;

-- Exports of notes are recorded like all others. SQLite cannot change a check, so the table is made again.
CREATE TABLE exports_of_all (
    id INTEGER PRIMARY KEY,
    export_id TEXT NOT NULL UNIQUE,
    exported TEXT NOT NULL CHECK (exported IN ('log', 'review-records', 'dispositions', 'notes')),
    format TEXT NOT NULL CHECK (format IN ('jsonl', 'csv')),
    filters TEXT NOT NULL,
    -- The size of the tree whose checkpoint it names.
    size INTEGER NOT NULL,
    actor TEXT NOT NULL,
    role TEXT NOT NULL,
    exported_at INTEGER NOT NULL
) STRICT;

INSERT INTO exports_of_all (id, export_id, exported, format, filters, size, actor, role, exported_at)
SELECT id, export_id, exported, format, filters, size, actor, role, exported_at FROM exports;
DROP TABLE exports;
ALTER TABLE exports_of_all RENAME TO exports;

CREATE TRIGGER exports_are_final BEFORE UPDATE ON exports
BEGIN SELECT RAISE(ABORT, 'what was recorded of exports stays'); END;
CREATE TRIGGER exports_stay BEFORE DELETE ON exports
BEGIN SELECT RAISE(ABORT, 'what was recorded of exports stays'); END;
