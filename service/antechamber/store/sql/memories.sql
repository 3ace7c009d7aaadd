-- name: receipt_by_id
SELECT s.*, p.state, p.decided_at, p.id AS reviewed, p.producer AS proposer
FROM answered_submissions AS s
LEFT JOIN proposals AS p ON p.id = coalesce(s.proposal, (
    -- What a curator redacted and released of a sealed event.
    SELECT o.proposal FROM quarantine AS q
    JOIN submissions AS o ON o.producer = q.producer AND o.idempotency_key = '!quarantine:' || q.quarantine_id
    WHERE q.submission = s.id AND q.kind = 'private'
))
WHERE s.submission_id = :submission_id AND s.producer_identity = :producer_identity

-- name: receipt_by_key
SELECT s.*, p.state, p.decided_at, p.id AS reviewed, p.producer AS proposer
FROM answered_submissions AS s
LEFT JOIN proposals AS p ON p.id = coalesce(s.proposal, (
    SELECT o.proposal FROM quarantine AS q
    JOIN submissions AS o ON o.producer = q.producer AND o.idempotency_key = '!quarantine:' || q.quarantine_id
    WHERE q.submission = s.id AND q.kind = 'private'
))
WHERE s.idempotency_key = :idempotency_key AND s.producer_identity = :producer_identity

-- name: last_reason
SELECT reason_code, reason_text FROM review_records
WHERE proposal = :proposal AND decision IN ('approve', 'edit', 'supersede', 'reject', 'merge') ORDER BY id DESC LIMIT 1

-- name: memory_of_proposal
SELECT memory_id, payload FROM memories WHERE proposal = :proposal ORDER BY id DESC LIMIT 1

-- name: submitted_in_session
SELECT 1 AS found FROM submissions
WHERE producer = (SELECT id FROM producers WHERE producer_identity = :producer_identity)
    AND submission_scope = 'session' AND scope_id = :scope_id AND proposal IS NOT NULL
LIMIT 1

-- name: memory_position
SELECT id, submission_scope, scope_id FROM memories WHERE memory_id = :memory_id

-- name: newest_memories
SELECT id FROM memories
WHERE submission_scope = :submission_scope AND scope_id = :scope_id AND state = 'active' AND id < :before
ORDER BY id DESC
LIMIT :number

-- name: memory_item
SELECT m.id, m.memory_id, m.payload, m.submission_scope, m.scope_id, m.source_span, m.supersedes, m.derived_from,
    m.admitted_at, m.state, before.memory_id AS replaces, maker.producer_identity,
    (SELECT count(DISTINCT e.owner) FROM evidence AS e WHERE e.proposal = p.id AND e.owner <> p.owner) AS evidence
FROM memories AS m
JOIN proposals AS p ON p.id = m.proposal
JOIN producers AS maker ON maker.id = p.producer
LEFT JOIN memories AS before ON before.id = m.replaces
WHERE m.id = :memory

-- name: records_of_memories
SELECT m.id AS memory, r.review_record_id, r.person
FROM memories AS m
JOIN review_records AS r ON r.proposal = m.proposal AND r.resulting_version = m.version
    AND r.resulting_hash = m.text_hash AND r.decision IN ('approve', 'edit', 'supersede')
WHERE m.id IN (SELECT value FROM json_each(:memories))
ORDER BY r.id

-- name: end_of_memory
SELECT c.changed_at AS ended_at, r.review_record_id, after.memory_id AS superseded_by
FROM memory_changes AS c
JOIN review_records AS r ON r.id = c.review_record
LEFT JOIN memories AS after ON after.review_record = c.review_record AND c.state = 'superseded'
WHERE c.memory = :memory AND c.state <> 'active'
ORDER BY c.id DESC
LIMIT 1
