-- What filters and views of the queue look for: columns of folds with indexes in the queue's order, and decisions
-- by time and person. Tags and marks are words between spaces. Marks of folds that an earlier version sorted are NULL.

ALTER TABLE folds ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE folds ADD COLUMN tags TEXT NOT NULL DEFAULT '';
ALTER TABLE folds ADD COLUMN marks TEXT;

UPDATE folds SET
    owner = coalesce((SELECT p.owner FROM proposals AS p WHERE p.fold = folds.id AND p.state = 'pending' ORDER BY p.id LIMIT 1), ''),
    tags = coalesce((
        SELECT ' ' || group_concat(t.value, ' ') || ' ' FROM proposals AS p, json_each(p.payload, '$.tags') AS t
        WHERE p.id = (SELECT min(m.id) FROM proposals AS m WHERE m.fold = folds.id AND m.state = 'pending')
    ), '')
WHERE pending > 0;

CREATE INDEX folds_of_owner ON folds (owner, rank, turn, id) WHERE pending > 0;
CREATE INDEX folds_of_scope_in_line ON folds (submission_scope, scope_id, rank, turn, id) WHERE pending > 0;
CREATE INDEX folds_near ON folds (rank, turn, id) WHERE pending > 1;
CREATE INDEX proposals_derived ON proposals (id) WHERE state = 'pending' AND derived_from IS NOT NULL;
CREATE INDEX review_records_by_day ON review_records (decided_at, person);

-- How dense a person's lists are.
ALTER TABLE users ADD COLUMN dense INTEGER NOT NULL DEFAULT 0 CHECK (dense IN (0, 1));
