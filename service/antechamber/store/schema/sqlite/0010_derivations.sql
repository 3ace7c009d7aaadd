-- Which proposals claim to be derived from a memory: the ids of `derived_from`, with an index from each side. The rows
-- follow the column, so that nothing else has to write them, and end with it when a proposal is erased.
CREATE TABLE derivations (
    memory_id TEXT NOT NULL,
    proposal INTEGER NOT NULL REFERENCES proposals (id),
    PRIMARY KEY (memory_id, proposal)
) STRICT, WITHOUT ROWID;

CREATE INDEX derivations_of_proposal ON derivations (proposal, memory_id);

INSERT INTO derivations
SELECT DISTINCT d.value, p.id FROM proposals AS p, json_each(p.derived_from) AS d WHERE p.derived_from IS NOT NULL;

CREATE TRIGGER proposals_have_derivations AFTER INSERT ON proposals
WHEN NEW.derived_from IS NOT NULL
BEGIN
    INSERT INTO derivations SELECT DISTINCT value, NEW.id FROM json_each(NEW.derived_from);
END;

CREATE TRIGGER proposals_lose_derivations AFTER UPDATE OF derived_from ON proposals
WHEN NEW.derived_from IS NULL
BEGIN
    DELETE FROM derivations WHERE proposal = NEW.id;
END;
