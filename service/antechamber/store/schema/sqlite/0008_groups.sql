-- What the sorter finds out about a waiting proposal beside its fold: its source, which groups the items of one producer
-- and file, and whether it seems to contradict an active memory. What waits already is sorted again to get both.

ALTER TABLE proposals ADD COLUMN source INTEGER;
ALTER TABLE proposals ADD COLUMN contradicts INTEGER NOT NULL DEFAULT 0 CHECK (contradicts IN (0, 1));

UPDATE folds SET pending = 0 WHERE pending > 0;
UPDATE proposals SET fold = NULL WHERE state = 'pending' AND fold IS NOT NULL;

CREATE INDEX proposals_of_source ON proposals (source, id) WHERE state = 'pending' AND source IS NOT NULL;

-- The quarantine in the order of its list.
CREATE INDEX quarantine_in_line ON quarantine (id) WHERE state = 'waiting';
