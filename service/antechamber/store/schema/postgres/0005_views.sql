-- What filters and views of the queue look for: columns of folds with indexes in the queue's order, and decisions
-- by time and person. Tags and marks are words between spaces. Marks of folds that an earlier version sorted are NULL.

ALTER TABLE antechamber.folds
ADD COLUMN owner TEXT COLLATE "C" NOT NULL DEFAULT '',
ADD COLUMN tags TEXT COLLATE "C" NOT NULL DEFAULT '',
ADD COLUMN marks TEXT COLLATE "C";

UPDATE antechamber.folds AS f SET
    owner = coalesce((
        SELECT p.owner FROM antechamber.proposals AS p WHERE p.fold = f.id AND p.state = 'pending' ORDER BY p.id LIMIT 1
    ), ''),
    tags = coalesce((
        SELECT ' ' || string_agg(t.value, ' ') || ' '
        FROM antechamber.proposals AS p, json_array_elements_text(CAST(p.payload AS JSON) -> 'tags') AS t (value)
        -- A text cannot hold U+0000, which JSON can.
        WHERE position('\u0000' IN p.payload) = 0 AND p.id = (
            SELECT min(m.id) FROM antechamber.proposals AS m WHERE m.fold = f.id AND m.state = 'pending'
        )
    ), '')
WHERE f.pending > 0;

CREATE INDEX folds_of_owner ON antechamber.folds (owner, rank, turn, id) WHERE pending > 0;
CREATE INDEX folds_of_scope_in_line ON antechamber.folds (submission_scope, scope_id, rank, turn, id) WHERE pending > 0;
CREATE INDEX folds_near ON antechamber.folds (rank, turn, id) WHERE pending > 1;
CREATE INDEX proposals_derived ON antechamber.proposals (id) WHERE state = 'pending' AND derived_from IS NOT NULL;
CREATE INDEX review_records_by_day ON antechamber.review_records (decided_at, person);

-- How dense a person's lists are.
ALTER TABLE antechamber.users ADD COLUMN dense INTEGER NOT NULL DEFAULT 0 CHECK (dense IN (0, 1));

GRANT UPDATE (marks) ON antechamber.folds TO antechamber_admission;
GRANT UPDATE (tags) ON antechamber.folds TO antechamber_promotion;
GRANT UPDATE (dense) ON antechamber.users TO antechamber_admission;
