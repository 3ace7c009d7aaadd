-- Where the policy allows it, the editor of a text may be its only approver. Such an approval says so, and the memory's
-- trigger takes it in the place of the second person. A memory needs no other approval less.
ALTER TABLE antechamber.review_records ADD COLUMN self_edit SMALLINT NOT NULL DEFAULT 0 CHECK (
    self_edit IN (0, 1) AND (self_edit = 0 OR (decision IN ('approve', 'edit', 'supersede') AND approvals_required = 2))
);

CREATE FUNCTION antechamber.check_self_edit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.decision <> 'edit' AND NOT EXISTS (
        SELECT 1 FROM antechamber.review_records AS r
        WHERE r.proposal = NEW.proposal AND r.decision = 'edit' AND r.person = NEW.person
            AND r.resulting_hash = NEW.resulting_hash
    )) OR EXISTS (
        SELECT 1 FROM antechamber.proposals AS p
        WHERE p.id = NEW.proposal AND (p.second = 1 OR p.redacted_by = NEW.person)
    ) THEN
        RAISE check_violation
        USING MESSAGE = 'only the editor of a text approves it alone, and only where one person suffices';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER review_records_of_an_editor_alone BEFORE INSERT ON antechamber.review_records
FOR EACH ROW WHEN (NEW.self_edit = 1) EXECUTE FUNCTION antechamber.check_self_edit();

CREATE TRIGGER review_records_keep_their_self_edit BEFORE UPDATE OF self_edit ON antechamber.review_records
FOR EACH ROW EXECUTE FUNCTION antechamber.refuse('review records are append-only');

CREATE OR REPLACE FUNCTION antechamber.check_memory() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT count(*)
        FROM antechamber.review_records AS approval
        WHERE approval.proposal = NEW.proposal
            AND approval.resulting_version = NEW.version
            AND approval.decision IN ('approve', 'edit', 'supersede')
            AND approval.resulting = NEW.payload
            AND approval.resulting_hash = NEW.text_hash
        HAVING count(DISTINCT approval.person) >= CASE
            WHEN max(approval.self_edit) = 1 THEN 1 ELSE max(approval.approvals_required)
        END
    ) THEN
        RAISE check_violation USING MESSAGE = 'a memory needs the approvals of its very text';
    END IF;
    IF NEW.state <> 'active' OR NOT EXISTS (
        SELECT 1 FROM antechamber.proposals AS p
        WHERE p.id = NEW.proposal AND p.version = NEW.version AND p.state = 'approved' AND p.withdrawn = 0
            AND p.submission_scope = NEW.submission_scope AND p.scope_id = NEW.scope_id
            AND p.source_span = NEW.source_span AND p.replaces IS NOT DISTINCT FROM NEW.replaces
    ) THEN
        RAISE check_violation USING MESSAGE = 'a memory belongs to the scope and source of its approved proposal';
    END IF;
    RETURN NEW;
END
$$;

-- A curator may add a note to a proposal after its decision; its producer may not.
CREATE OR REPLACE FUNCTION antechamber.check_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
            SELECT 1 FROM antechamber.proposals AS p
            WHERE p.id = NEW.proposal AND (p.state = 'pending' OR (NEW.curator IS NOT NULL AND NEW.kind = 'note'))
        )
        OR EXISTS (SELECT 1 FROM antechamber.erasures AS e WHERE e.proposal = NEW.proposal)
        OR (NEW.curator IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM antechamber.users AS u
            WHERE u.id = NEW.curator AND u.person = NEW.person AND u.role = 'curator' AND u.disabled_at IS NULL
        ))
        OR (NEW.producer IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM antechamber.proposals AS p WHERE p.id = NEW.proposal AND p.producer = NEW.producer
        ))
        OR (NEW.question IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM antechamber.notes AS n
            WHERE n.id = NEW.question AND n.proposal = NEW.proposal AND n.kind = 'question'
        ))
    THEN
        RAISE check_violation
        USING MESSAGE = 'only a curator or its producer writes a note, and only a curator on a decided proposal';
    END IF;
    RETURN NEW;
END
$$;
