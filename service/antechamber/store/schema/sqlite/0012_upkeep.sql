-- The curators' dates after which a memory comes up for review. Each row is a record with a leaf; the last one of a
-- proposal holds, also for the memory that the proposal becomes later. NULL takes the date away.
CREATE TABLE review_dates (
    id INTEGER PRIMARY KEY,
    review_date_id TEXT NOT NULL UNIQUE,
    proposal INTEGER NOT NULL REFERENCES proposals (id),
    review_after INTEGER,
    curator INTEGER NOT NULL REFERENCES users (id),
    person TEXT NOT NULL,
    decision_key TEXT NOT NULL UNIQUE,
    policy_digest TEXT NOT NULL,
    set_at INTEGER NOT NULL
) STRICT;

CREATE INDEX review_dates_of_proposal ON review_dates (proposal, id);

-- Also against REPLACE, which deletes without a trigger.
CREATE TRIGGER review_dates_name_the_person
BEFORE INSERT ON review_dates
WHEN NOT EXISTS (
        SELECT 1 FROM users WHERE id = NEW.curator AND person = NEW.person AND role = 'curator' AND disabled_at IS NULL
    )
    OR EXISTS (
        SELECT 1 FROM review_dates
        WHERE id = NEW.id OR review_date_id = NEW.review_date_id OR decision_key = NEW.decision_key
    )
BEGIN SELECT RAISE(ABORT, 'only a curator sets a review date, and only in person'); END;

CREATE TRIGGER review_dates_are_final
BEFORE UPDATE ON review_dates
BEGIN SELECT RAISE(ABORT, 'review dates are append-only'); END;

CREATE TRIGGER review_dates_stay
BEFORE DELETE ON review_dates
BEGIN SELECT RAISE(ABORT, 'review dates are append-only'); END;

-- When each memory comes up for review. `idle_since` is the last time at which it was admitted, read or kept by a curator;
-- reads before this step were not counted, so for memories of before it begins now. The rows follow memories and dates.
CREATE TABLE upkeep (
    memory INTEGER PRIMARY KEY REFERENCES memories (id),
    active INTEGER NOT NULL CHECK (active IN (0, 1)),
    idle_since INTEGER NOT NULL,
    last_read_at INTEGER,
    review_after INTEGER
) STRICT;

CREATE INDEX upkeep_by_use ON upkeep (idle_since, memory) WHERE active = 1;
CREATE INDEX upkeep_by_date ON upkeep (review_after, memory) WHERE active = 1 AND review_after IS NOT NULL;

INSERT INTO upkeep (memory, active, idle_since)
SELECT id, state = 'active', max(admitted_at, CAST(strftime('%s', 'now') AS INTEGER) * 1000000) FROM memories;

CREATE TRIGGER memories_have_upkeep AFTER INSERT ON memories
BEGIN
    INSERT INTO upkeep (memory, active, idle_since, review_after) VALUES (
        NEW.id, 1, NEW.admitted_at,
        (SELECT review_after FROM review_dates WHERE proposal = NEW.proposal ORDER BY id DESC LIMIT 1)
    );
END;

CREATE TRIGGER upkeep_follows_states AFTER UPDATE OF state ON memories
BEGIN
    UPDATE upkeep SET active = NEW.state = 'active' WHERE memory = NEW.id;
END;

CREATE TRIGGER upkeep_follows_dates AFTER INSERT ON review_dates
BEGIN
    UPDATE upkeep SET review_after = NEW.review_after, idle_since = max(idle_since, NEW.set_at)
    WHERE memory IN (SELECT id FROM memories WHERE proposal = NEW.proposal);
END;

-- How often the holder of a token read a memory in an hour: ids only, counted in memory and added once a minute.
CREATE TABLE memory_reads (
    memory INTEGER NOT NULL REFERENCES memories (id),
    hour INTEGER NOT NULL,
    role TEXT NOT NULL,
    name TEXT NOT NULL,
    number INTEGER NOT NULL,
    last_read_at INTEGER NOT NULL,
    PRIMARY KEY (memory, hour, role, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX memory_reads_by_hour ON memory_reads (hour);

-- What claims to supersede a memory, and the memories that were retracted.
CREATE INDEX proposals_superseding ON proposals (supersedes, id) WHERE supersedes IS NOT NULL;
CREATE INDEX memories_retracted ON memories (memory_id) WHERE state = 'retracted';
