-- name: rehearsal_window
SELECT CASE WHEN count(*) < :number THEN 0 ELSE min(w.id) END AS first,
    (SELECT coalesce(max(l.id), 0) FROM submissions AS l) AS last
FROM (
    SELECT s.id
    FROM submissions AS s
    JOIN proposals AS p ON p.id = s.proposal
    LEFT JOIN erasures AS e ON e.proposal = p.id
    WHERE e.id IS NULL
    ORDER BY s.id DESC
    LIMIT :number
) AS w

-- name: count_rehearsed
SELECT count(*) AS number FROM submissions WHERE id >= :first AND id <= :last

-- name: rehearsed_submissions
SELECT s.id, s.submission_id, maker.producer_identity, s.idempotency_key, s.disposition, s.reason_code,
    s.submission_scope, s.scope_id, s.source_event_hash, s.visibility, s.received_at, s.proposal, p.proposal_id,
    p.state AS proposal_state, e.id IS NOT NULL AS erased,
    s.disposition = 'rejected-private' AND EXISTS (
        SELECT 1 FROM quarantine AS q JOIN sealed_events AS v ON v.quarantine = q.id
        WHERE q.submission = s.id AND q.kind = 'private' AND v.ended_at IS NULL
    ) AS sealed,
    CASE WHEN e.id IS NULL THEN p.payload END AS payload, p.source_span,
    CASE WHEN p.id = s.id THEN p.supersedes END AS supersedes,
    CASE WHEN p.id = s.id THEN p.derived_from END AS derived_from,
    CASE WHEN p.id = s.id THEN p.observed_at END AS observed_at,
    p.owner, p.edited_payload IS NOT NULL AS edited, coalesce(p.second, 0) AS second, p.redacted_by,
    m.payload AS memory_payload, m.version AS memory_version
FROM submissions AS s
JOIN producers AS maker ON maker.id = s.producer
LEFT JOIN proposals AS p ON p.id = s.proposal
LEFT JOIN erasures AS e ON e.proposal = p.id
LEFT JOIN memories AS m ON m.proposal = s.id AND m.state = 'active'
WHERE s.id >= :first AND s.id <= :last
ORDER BY s.id
LIMIT :number

-- name: rehearsed_decisions
SELECT r.proposal, r.decision, r.person, r.resulting_version, r.resulting_hash
FROM review_records AS r
WHERE r.proposal >= :first AND r.proposal <= :last
ORDER BY r.proposal, r.id
