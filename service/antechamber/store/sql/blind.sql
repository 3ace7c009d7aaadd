-- name: add_blind_item
INSERT INTO blind_items (blind_item_id, kind, proposal, record, verdict, explanation, policy_digest, added_at)
VALUES (
    :blind_item_id, :kind, :proposal, (SELECT id FROM review_records WHERE review_record_id = :review_record_id), :verdict,
    :explanation, :policy_digest, :added_at
)

-- name: add_blind_proposal
INSERT INTO proposals (
    id, proposal_id, producer, owner, submission_scope, scope_id, source_event_hash, payload, source_span, visibility,
    supersedes, derived_from, observed_at, received_at
) VALUES (
    :id, :proposal_id, (SELECT id FROM producers WHERE producer_identity = :producer_identity), :owner, :submission_scope,
    :scope_id, :source_event_hash, :payload, :source_span, :visibility, :supersedes, :derived_from, :observed_at,
    :received_at
)
ON CONFLICT (submission_scope, scope_id, source_event_hash) DO NOTHING

-- name: blind_item
SELECT b.id, b.blind_item_id, b.kind, p.proposal_id, b.verdict, b.explanation, r.proposal AS original, d.decision, d.person,
    b.added_at, d.decided_at
FROM blind_items AS b
JOIN proposals AS p ON p.id = b.proposal
LEFT JOIN review_records AS r ON r.id = b.record
LEFT JOIN blind_decisions AS d ON d.item = b.id
WHERE b.proposal = :proposal

-- name: last_arrival
SELECT received_at FROM proposals ORDER BY id DESC LIMIT 1

-- name: is_blind
SELECT 1 AS found FROM proposals AS p JOIN blind_items AS b ON b.proposal = p.id WHERE p.proposal_id = :proposal_id

-- name: is_looked_at
SELECT 1 AS found FROM review_records AS r JOIN blind_items AS b ON b.record = r.id
WHERE r.review_record_id = :review_record_id

-- name: judges
SELECT DISTINCT person FROM review_records WHERE proposal = :original

-- name: add_blind_decision
INSERT INTO blind_decisions (
    blind_decision_id, item, decision, reason_code, warned, curator, person, decision_key, policy_digest, decided_at
) VALUES (
    :blind_decision_id, :item, :decision, :reason_code, :warned, :curator, :person, :decision_key, :policy_digest,
    :decided_at
)

-- name: end_blind_proposal
UPDATE proposals SET state = 'rejected', decided_at = :decided_at
WHERE id = :proposal AND version = :version AND state = 'pending'

-- name: calibration_items
SELECT b.id, b.blind_item_id, b.kind, p.proposal_id, b.verdict, b.explanation, NULL AS original, d.decision, d.person,
    b.added_at, d.decided_at
FROM blind_items AS b
JOIN proposals AS p ON p.id = b.proposal
LEFT JOIN blind_decisions AS d ON d.item = b.id
WHERE b.kind = 'calibration'
ORDER BY b.id

-- name: blind_counts
SELECT b.kind, b.verdict, d.decision, d.warned, d.person, count(*) AS number
FROM blind_decisions AS d
JOIN blind_items AS b ON b.id = d.item
LEFT JOIN review_records AS u ON u.undoes = b.record
WHERE u.id IS NULL
GROUP BY b.kind, b.verdict, d.decision, d.warned, d.person

-- name: logged_blind_items
SELECT b.blind_item_id, b.kind, p.proposal_id, b.verdict, b.explanation, p.payload, p.source_span, p.submission_scope,
    p.scope_id, maker.producer_identity, r.review_record_id, b.policy_digest, b.added_at,
    e.id AS erased
FROM blind_items AS b
LEFT JOIN proposals AS p ON p.id = b.proposal
LEFT JOIN producers AS maker ON maker.id = p.producer
LEFT JOIN review_records AS r ON r.id = b.record
LEFT JOIN erasures AS e ON e.proposal = b.proposal
ORDER BY b.id

-- name: logged_blind_decisions
SELECT d.blind_decision_id, b.blind_item_id, d.decision, d.reason_code, d.warned, d.person, u.name AS curator,
    d.policy_digest, d.decided_at
FROM blind_decisions AS d
LEFT JOIN blind_items AS b ON b.id = d.item
LEFT JOIN users AS u ON u.id = d.curator
ORDER BY d.id

-- name: crossed_blind_items
SELECT 'blind item ' || b.blind_item_id || ' has a submission, review record, evidence or memory, or another state than its decision'
    AS finding
FROM blind_items AS b
LEFT JOIN proposals AS p ON p.id = b.proposal
LEFT JOIN blind_decisions AS d ON d.item = b.id
WHERE p.id IS NULL OR p.version <> 1 OR p.edited_payload IS NOT NULL
    OR (d.id IS NULL AND p.state <> 'pending' AND NOT EXISTS (
        SELECT 1 FROM erasures AS e WHERE e.proposal = b.proposal
    ))
    OR (d.id IS NOT NULL AND (p.state <> 'rejected' OR p.decided_at <> d.decided_at))
    OR EXISTS (SELECT 1 FROM submissions AS s WHERE s.id = b.proposal)
    OR EXISTS (SELECT 1 FROM submissions AS s WHERE s.proposal = b.proposal)
    OR EXISTS (SELECT 1 FROM review_records AS r WHERE r.proposal = b.proposal)
    OR EXISTS (SELECT 1 FROM evidence AS e WHERE e.proposal = b.proposal)
    OR EXISTS (SELECT 1 FROM memories AS m WHERE m.proposal = b.proposal)
ORDER BY b.id

-- name: second_looks_at
SELECT p.id, p.proposal_id, p.version, p.state FROM proposals AS original
JOIN review_records AS r ON r.proposal = original.id
JOIN blind_items AS b ON b.record = r.id
JOIN proposals AS p ON p.id = b.proposal
WHERE original.proposal_id = :proposal_id AND NOT EXISTS (SELECT 1 FROM erasures AS e WHERE e.proposal = p.id)
ORDER BY p.id

-- name: erase_explanation
UPDATE blind_items SET explanation = '(erased)' WHERE proposal = :id

-- name: add_screen_time
INSERT INTO screen_times (person, approved, characters, shown_for, decided_at)
VALUES (:person, :approved, :characters, :shown_for, :decided_at)

-- name: screen_times
SELECT person, approved, characters, shown_for, decided_at FROM screen_times
WHERE decided_at >= :since
ORDER BY decided_at DESC
LIMIT :most

-- name: forget_screen_times
DELETE FROM screen_times WHERE decided_at < :before
