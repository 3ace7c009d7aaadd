-- What the sorter finds out about a waiting proposal beside its fold: its source, which groups the items of one producer
-- and file, and whether it seems to contradict an active memory. What waits already is sorted again to get both.

ALTER TABLE antechamber.proposals
    ADD COLUMN source BIGINT,
    ADD COLUMN contradicts INTEGER NOT NULL DEFAULT 0 CHECK (contradicts IN (0, 1));

UPDATE antechamber.folds SET pending = 0 WHERE pending > 0;
UPDATE antechamber.proposals SET fold = NULL WHERE state = 'pending' AND fold IS NOT NULL;

CREATE INDEX proposals_of_source ON antechamber.proposals (source, id) WHERE state = 'pending' AND source IS NOT NULL;

GRANT UPDATE (source, contradicts) ON antechamber.proposals TO antechamber_admission;

-- The quarantine in the order of its list.
CREATE INDEX quarantine_in_line ON antechamber.quarantine (id) WHERE state = 'waiting';
