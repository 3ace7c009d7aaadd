-- Which proposals claim to be derived from a memory: the ids of `derived_from`, with an index from each side. The rows
-- follow the column, so that nothing else has to write them, and end with it when a proposal is erased.
CREATE TABLE antechamber.derivations (
    memory_id TEXT COLLATE "C" NOT NULL,
    proposal BIGINT NOT NULL REFERENCES antechamber.proposals (id),
    PRIMARY KEY (memory_id, proposal)
);

CREATE INDEX derivations_of_proposal ON antechamber.derivations (proposal, memory_id);

INSERT INTO antechamber.derivations
SELECT DISTINCT d.value, p.id
FROM antechamber.proposals AS p, json_array_elements_text(CAST(p.derived_from AS JSON)) AS d (value)
WHERE p.derived_from IS NOT NULL;

CREATE FUNCTION antechamber.follow_derivations() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.derived_from IS NULL THEN
        DELETE FROM antechamber.derivations WHERE proposal = NEW.id;
    ELSE
        INSERT INTO antechamber.derivations
        SELECT DISTINCT value, NEW.id FROM json_array_elements_text(CAST(NEW.derived_from AS JSON))
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END
$$;

CREATE TRIGGER proposals_have_derivations AFTER INSERT ON antechamber.proposals
FOR EACH ROW WHEN (NEW.derived_from IS NOT NULL) EXECUTE FUNCTION antechamber.follow_derivations();

CREATE TRIGGER proposals_lose_derivations AFTER UPDATE OF derived_from ON antechamber.proposals
FOR EACH ROW WHEN (NEW.derived_from IS NULL) EXECUTE FUNCTION antechamber.follow_derivations();

GRANT INSERT, DELETE ON antechamber.derivations TO antechamber_admission, antechamber_promotion;
