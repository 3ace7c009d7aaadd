-- name: receipt_by_id
SELECT s.receipt, p.state, p.decided_at, p.id AS proposal
FROM submissions AS s
JOIN producers AS owner ON owner.id = s.producer
LEFT JOIN proposals AS p ON p.id = s.proposal
WHERE s.submission_id = :submission_id AND owner.producer_identity = :producer_identity

-- name: receipt_by_key
SELECT s.receipt, p.state, p.decided_at, p.id AS proposal
FROM submissions AS s
JOIN producers AS owner ON owner.id = s.producer
LEFT JOIN proposals AS p ON p.id = s.proposal
WHERE s.idempotency_key = :idempotency_key AND owner.producer_identity = :producer_identity

-- name: last_reason
SELECT reason_code FROM review_records
WHERE proposal = :proposal AND decision IN ('approve', 'edit', 'supersede', 'reject', 'merge') ORDER BY id DESC LIMIT 1

-- name: memory_of_proposal
SELECT memory_id FROM memories WHERE proposal = :proposal ORDER BY id DESC LIMIT 1

-- name: submitted_in_session
SELECT 1 AS found FROM submissions
WHERE producer = (SELECT id FROM producers WHERE producer_identity = :producer_identity)
    AND submission_scope = 'session' AND scope_id = :scope_id AND proposal IS NOT NULL
LIMIT 1

-- name: memory_position
SELECT id FROM memories
WHERE memory_id = :memory_id AND submission_scope = :submission_scope AND scope_id = :scope_id

-- name: memories_of_scope
SELECT m.memory_id, m.payload, m.submission_scope, m.scope_id, m.source_span, m.supersedes, m.admitted_at,
    before.memory_id AS replaces
FROM memories AS m
LEFT JOIN memories AS before ON before.id = m.replaces
WHERE m.submission_scope = :submission_scope AND m.scope_id = :scope_id AND m.state = 'active' AND m.id < :before
ORDER BY m.id DESC
LIMIT :number

-- name: memories_of_scope_matching
SELECT m.memory_id, m.payload, m.submission_scope, m.scope_id, m.source_span, m.supersedes, m.admitted_at,
    before.memory_id AS replaces
FROM memories_search AS found
JOIN memories AS m ON m.id = found.rowid
LEFT JOIN memories AS before ON before.id = m.replaces
WHERE found.memories_search MATCH :words
    AND m.submission_scope = :submission_scope AND m.scope_id = :scope_id AND m.state = 'active' AND m.id < :before
ORDER BY m.id DESC
LIMIT :number
