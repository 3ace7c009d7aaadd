-- What measures oversight: calibration items, whose verdict an operator knows, and second looks at decided proposals.
-- Each has a waiting row among the proposals, so that queue, claims, groups and filters treat it like any other. All else
-- is here: it has no submission, evidence or review record, and no trigger lets it become a memory.
CREATE TABLE blind_items (
    id INTEGER PRIMARY KEY,
    blind_item_id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('calibration', 'second-look')),
    proposal INTEGER NOT NULL UNIQUE REFERENCES proposals (id),
    -- For a second look, the review record whose decision is compared.
    record INTEGER UNIQUE REFERENCES review_records (id),
    verdict TEXT NOT NULL CHECK (verdict IN ('approve', 'reject')),
    explanation TEXT NOT NULL,
    policy_digest TEXT NOT NULL,
    added_at INTEGER NOT NULL,
    CHECK ((kind = 'second-look') = (record IS NOT NULL))
) STRICT;

CREATE TABLE blind_decisions (
    id INTEGER PRIMARY KEY,
    blind_decision_id TEXT NOT NULL UNIQUE,
    item INTEGER NOT NULL UNIQUE REFERENCES blind_items (id),
    decision TEXT NOT NULL CHECK (decision IN ('approve', 'edit', 'supersede', 'reject', 'merge', 'flag')),
    reason_code TEXT,
    -- Whether the page showed a warning.
    warned INTEGER NOT NULL CHECK (warned IN (0, 1)),
    curator INTEGER NOT NULL REFERENCES users (id),
    person TEXT NOT NULL,
    decision_key TEXT NOT NULL UNIQUE,
    policy_digest TEXT NOT NULL,
    decided_at INTEGER NOT NULL
) STRICT;

-- Also against REPLACE, which deletes without a trigger.
CREATE TRIGGER blind_items_are_not_submitted
BEFORE INSERT ON blind_items
WHEN NOT EXISTS (SELECT 1 FROM proposals WHERE id = NEW.proposal AND state = 'pending')
    OR EXISTS (SELECT 1 FROM submissions WHERE id = NEW.proposal)
    OR EXISTS (SELECT 1 FROM review_records WHERE proposal = NEW.proposal)
    OR EXISTS (
        SELECT 1 FROM blind_items
        WHERE id = NEW.id OR blind_item_id = NEW.blind_item_id OR proposal = NEW.proposal OR record = NEW.record
    )
BEGIN SELECT RAISE(ABORT, 'a proposal of a producer never becomes a blind item'); END;

CREATE TRIGGER blind_items_are_final
BEFORE UPDATE OF id, blind_item_id, kind, proposal, record, verdict, policy_digest, added_at ON blind_items
BEGIN SELECT RAISE(ABORT, 'a blind item never changes'); END;

CREATE TRIGGER blind_items_lose_their_text
BEFORE UPDATE OF explanation ON blind_items
WHEN NEW.explanation <> '(erased)' OR NOT EXISTS (SELECT 1 FROM erasures WHERE proposal = OLD.proposal)
BEGIN SELECT RAISE(ABORT, 'a blind item never changes'); END;

CREATE TRIGGER blind_items_stay
BEFORE DELETE ON blind_items
BEGIN SELECT RAISE(ABORT, 'a blind item never changes'); END;

CREATE TRIGGER blind_decisions_name_the_person
BEFORE INSERT ON blind_decisions
WHEN NOT EXISTS (
        SELECT 1 FROM users WHERE id = NEW.curator AND person = NEW.person AND role = 'curator' AND disabled_at IS NULL
    )
    OR EXISTS (
        SELECT 1 FROM blind_decisions
        WHERE id = NEW.id OR blind_decision_id = NEW.blind_decision_id OR item = NEW.item
            OR decision_key = NEW.decision_key
    )
BEGIN SELECT RAISE(ABORT, 'a blind item is decided once, by a curator in person'); END;

CREATE TRIGGER blind_decisions_are_final
BEFORE UPDATE ON blind_decisions
BEGIN SELECT RAISE(ABORT, 'decisions on blind items are append-only'); END;

CREATE TRIGGER blind_decisions_stay
BEFORE DELETE ON blind_decisions
BEGIN SELECT RAISE(ABORT, 'decisions on blind items are append-only'); END;

CREATE TRIGGER proposals_of_blind_items_are_never_approved
BEFORE UPDATE OF state ON proposals
WHEN NEW.state = 'approved' AND EXISTS (SELECT 1 FROM blind_items WHERE proposal = NEW.id)
BEGIN SELECT RAISE(ABORT, 'a blind item is never approved'); END;

CREATE TRIGGER review_records_are_not_of_blind_items
BEFORE INSERT ON review_records
WHEN EXISTS (SELECT 1 FROM blind_items WHERE proposal = NEW.proposal)
BEGIN SELECT RAISE(ABORT, 'a blind item has no review record'); END;

CREATE TRIGGER memories_are_not_of_blind_items
BEFORE INSERT ON memories
WHEN EXISTS (SELECT 1 FROM blind_items WHERE proposal = NEW.proposal)
BEGIN SELECT RAISE(ABORT, 'a blind item never becomes a memory'); END;

CREATE TRIGGER evidence_is_not_of_blind_items
BEFORE INSERT ON evidence
WHEN EXISTS (SELECT 1 FROM blind_items WHERE proposal = NEW.proposal)
BEGIN SELECT RAISE(ABORT, 'a blind item has no evidence'); END;

CREATE TRIGGER submissions_are_not_of_blind_items
BEFORE INSERT ON submissions
WHEN NEW.disposition = 'accepted-as-duplicate' AND EXISTS (SELECT 1 FROM blind_items WHERE proposal = NEW.proposal)
BEGIN SELECT RAISE(ABORT, 'a blind item has no submission'); END;

-- How long a page was on the screen before a decision, for the days that the policy says; shown summed up only.
CREATE TABLE screen_times (
    id INTEGER PRIMARY KEY,
    person TEXT NOT NULL,
    approved INTEGER NOT NULL CHECK (approved IN (0, 1)),
    characters INTEGER NOT NULL,
    -- Microseconds; NULL if the form did not say when it was shown.
    shown_for INTEGER,
    decided_at INTEGER NOT NULL
) STRICT;

CREATE INDEX screen_times_by_time ON screen_times (decided_at);
