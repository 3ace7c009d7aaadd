-- The change feed: every change of a memory at the sequence of its leaf, so that readers get them in commit order. An
-- active memory whose evidence grows is admitted again, because what agents read of it changes.

CREATE TABLE change_feed (
    submission_scope TEXT NOT NULL,
    scope_id TEXT NOT NULL,
    sequence INTEGER NOT NULL REFERENCES log_leaves (id),
    memory INTEGER NOT NULL REFERENCES memories (id),
    change TEXT NOT NULL CHECK (change IN ('admitted', 'superseded', 'retracted', 'expired', 'erased')),
    changed_at INTEGER NOT NULL,
    PRIMARY KEY (submission_scope, scope_id, sequence, memory)
) STRICT, WITHOUT ROWID;

CREATE INDEX change_feed_by_sequence ON change_feed (sequence);

CREATE TRIGGER change_feed_is_final BEFORE UPDATE ON change_feed
BEGIN SELECT RAISE(ABORT, 'the change feed is append-only'); END;
CREATE TRIGGER change_feed_stays BEFORE DELETE ON change_feed
BEGIN SELECT RAISE(ABORT, 'the change feed is append-only'); END;

-- Also against REPLACE, and against a change that readers who are ahead of it would never get.
CREATE TRIGGER change_feed_follows_the_log
BEFORE INSERT ON change_feed
WHEN NEW.sequence < (SELECT coalesce(max(sequence), 0) FROM change_feed)
    OR EXISTS (SELECT 1 FROM change_feed WHERE sequence = NEW.sequence AND memory = NEW.memory)
BEGIN SELECT RAISE(ABORT, 'the change feed is append-only'); END;
