-- The change feed: every change of a memory at the sequence of its leaf, so that readers get them in commit order. An
-- active memory whose evidence grows is admitted again, because what agents read of it changes.

CREATE TABLE antechamber.change_feed (
    submission_scope TEXT COLLATE "C" NOT NULL,
    scope_id TEXT COLLATE "C" NOT NULL,
    sequence BIGINT NOT NULL REFERENCES antechamber.log_leaves (id),
    memory BIGINT NOT NULL REFERENCES antechamber.memories (id),
    change TEXT NOT NULL CHECK (change IN ('admitted', 'superseded', 'retracted', 'expired', 'erased')),
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (submission_scope, scope_id, sequence, memory)
);

CREATE INDEX change_feed_by_sequence ON antechamber.change_feed (sequence);

CREATE TRIGGER change_feed_is_final BEFORE UPDATE OR DELETE ON antechamber.change_feed
FOR EACH ROW EXECUTE FUNCTION antechamber.refuse('the change feed is append-only');

CREATE TRIGGER change_feed_is_not_emptied BEFORE TRUNCATE ON antechamber.change_feed
FOR EACH STATEMENT EXECUTE FUNCTION antechamber.refuse('the change feed is append-only');

CREATE FUNCTION antechamber.check_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.sequence < (SELECT coalesce(max(f.sequence), 0) FROM antechamber.change_feed AS f) THEN
        RAISE check_violation USING MESSAGE = 'the change feed is append-only';
    END IF;
    RETURN NEW;
END
$$;

-- Against a change that readers who are ahead of it would never get.
CREATE TRIGGER change_feed_follows_the_log BEFORE INSERT ON antechamber.change_feed
FOR EACH ROW EXECUTE FUNCTION antechamber.check_change();

-- Written with the leaves at the end of a transaction, in the role that appends them.
GRANT INSERT ON antechamber.change_feed TO antechamber_admission;
