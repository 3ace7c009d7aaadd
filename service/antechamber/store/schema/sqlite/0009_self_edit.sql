-- Where the policy allows it, the editor of a text may be its only approver. Such an approval says so, and the memory's
-- trigger takes it in the place of the second person. A memory needs no other approval less.
ALTER TABLE review_records ADD COLUMN self_edit INTEGER NOT NULL DEFAULT 0 CHECK (
    self_edit IN (0, 1) AND (self_edit = 0 OR (decision IN ('approve', 'edit', 'supersede') AND approvals_required = 2))
);

CREATE TRIGGER review_records_of_an_editor_alone
BEFORE INSERT ON review_records
WHEN NEW.self_edit = 1 AND (
    (NEW.decision <> 'edit' AND NOT EXISTS (
        SELECT 1 FROM review_records
        WHERE proposal = NEW.proposal AND decision = 'edit' AND person = NEW.person AND resulting_hash = NEW.resulting_hash
    ))
    OR EXISTS (SELECT 1 FROM proposals WHERE id = NEW.proposal AND (second = 1 OR redacted_by = NEW.person))
)
BEGIN SELECT RAISE(ABORT, 'only the editor of a text approves it alone, and only where one person suffices'); END;

CREATE TRIGGER review_records_keep_their_self_edit
BEFORE UPDATE OF self_edit ON review_records
BEGIN SELECT RAISE(ABORT, 'review records are append-only'); END;

DROP TRIGGER memories_need_their_approvals;
CREATE TRIGGER memories_need_their_approvals
BEFORE INSERT ON memories
WHEN NOT EXISTS (
    SELECT count(*)
    FROM review_records AS approval
    WHERE approval.proposal = NEW.proposal
        AND approval.resulting_version = NEW.version
        AND approval.decision IN ('approve', 'edit', 'supersede')
        AND approval.resulting = NEW.payload
        AND approval.resulting_hash = NEW.text_hash
    HAVING count(DISTINCT approval.person) >= CASE
        WHEN max(approval.self_edit) = 1 THEN 1 ELSE max(approval.approvals_required)
    END
)
BEGIN SELECT RAISE(ABORT, 'a memory needs the approvals of its very text'); END;

-- A curator may add a note to a proposal after its decision; its producer may not.
DROP TRIGGER notes_are_of_waiting_proposals;
CREATE TRIGGER notes_are_of_waiting_proposals
BEFORE INSERT ON notes
WHEN NOT EXISTS (
        SELECT 1 FROM proposals
        WHERE id = NEW.proposal AND (state = 'pending' OR (NEW.curator IS NOT NULL AND NEW.kind = 'note'))
    )
    OR EXISTS (SELECT 1 FROM erasures WHERE proposal = NEW.proposal)
    OR (NEW.curator IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM users WHERE id = NEW.curator AND person = NEW.person AND role = 'curator' AND disabled_at IS NULL
    ))
    OR (NEW.producer IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM proposals WHERE id = NEW.proposal AND producer = NEW.producer
    ))
    OR (NEW.question IS NOT NULL AND NOT EXISTS (
        SELECT 1 FROM notes WHERE id = NEW.question AND proposal = NEW.proposal AND kind = 'question'
    ))
    OR EXISTS (
        SELECT 1 FROM notes WHERE id = NEW.id OR note_id = NEW.note_id OR question = NEW.question
            OR (note_key = NEW.note_key AND producer IS NEW.producer)
    )
BEGIN SELECT RAISE(ABORT, 'only a curator or its producer writes a note, and only a curator on a decided proposal'); END;
