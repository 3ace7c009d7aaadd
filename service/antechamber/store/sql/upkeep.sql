-- name: add_review_date
INSERT INTO review_dates (
    review_date_id, proposal, review_after, curator, person, decision_key, policy_digest, set_at
) VALUES (:review_date_id, :proposal, :review_after, :curator, :person, :decision_key, :policy_digest, :set_at)

-- name: review_dates_of_proposal
SELECT review_date_id, review_after, person, set_at FROM review_dates WHERE proposal = :proposal ORDER BY id

-- name: review_date_with_key
SELECT id FROM review_dates WHERE decision_key = :decision_key

-- name: count_read
INSERT INTO memory_reads (memory, hour, role, name, number, last_read_at)
VALUES (:memory, :hour, :role, :name, :number, :last_read_at)
ON CONFLICT (memory, hour, role, name) DO UPDATE SET
    number = memory_reads.number + excluded.number,
    last_read_at = CASE
        WHEN excluded.last_read_at > memory_reads.last_read_at THEN excluded.last_read_at ELSE memory_reads.last_read_at
    END

-- At most once an hour for each memory, because every change moves it in an index.
-- name: note_read
UPDATE upkeep SET last_read_at = :last_read_at,
    idle_since = CASE WHEN idle_since < :last_read_at THEN :last_read_at ELSE idle_since END
WHERE memory = :memory AND coalesce(last_read_at, 0) <= :last_read_at - 3600000000

-- name: oldest_read
SELECT min(hour) AS hour FROM memory_reads

-- name: forget_reads
DELETE FROM memory_reads WHERE (memory, hour, role, name) IN (
    SELECT memory, hour, role, name FROM memory_reads WHERE hour < :before ORDER BY hour LIMIT :number
)

-- name: readers_of_memory
SELECT r.role, r.name, CAST(sum(r.number) AS BIGINT) AS number, max(r.last_read_at) AS last_read_at
FROM memory_reads AS r
WHERE r.memory = :memory AND r.hour >= :since_hour
GROUP BY r.role, r.name
ORDER BY max(r.last_read_at) DESC, r.name
LIMIT :number

-- name: upkeep_of_memory
SELECT idle_since, last_read_at, review_after FROM upkeep WHERE memory = :memory

-- The proposals that name a memory, newest first.
-- name: proposals_naming
SELECT p.proposal_id, coalesce(p.edited_payload, p.payload) AS payload, p.submission_scope, p.scope_id, p.state,
    p.received_at, maker.producer_identity, named.claim
FROM (
    SELECT d.proposal, 'derived_from' AS claim FROM derivations AS d WHERE d.memory_id = :memory_id
    UNION ALL
    SELECT s.id, 'supersedes' FROM proposals AS s WHERE s.supersedes = :supersedes
) AS named
JOIN proposals AS p ON p.id = named.proposal
JOIN producers AS maker ON maker.id = p.producer
ORDER BY p.id DESC, named.claim
LIMIT :number

-- The proposals that are derived from a retracted memory, to any depth; UNION drops what was reached before, so that
-- claims in a circle end.
-- name: tainted
WITH RECURSIVE tainted (proposal) AS (
    SELECT d.proposal
    FROM memories AS m
    JOIN derivations AS d ON d.memory_id = m.memory_id
    WHERE m.state = 'retracted'
    UNION
    SELECT d.proposal
    FROM tainted AS t
    JOIN memories AS m ON m.proposal = t.proposal
    JOIN derivations AS d ON d.memory_id = m.memory_id
)
SELECT proposal FROM tainted

-- name: memories_derived_from_retracted
SELECT m.* FROM browsed_memories AS m
WHERE m.id IN (
        SELECT a.id FROM memories AS a WHERE a.state = 'active' AND a.proposal IN (
            -- include: tainted
        )
    )
    AND m.id < coalesce((SELECT id FROM memories WHERE memory_id = :after), 9223372036854775807)
    AND (:submission_scope = '' OR m.submission_scope = :submission_scope)
    AND (:scope_id = '' OR m.scope_id = :scope_id)
ORDER BY m.id DESC
LIMIT :number

-- name: count_derived_from_retracted
SELECT count(*) AS number FROM (
    SELECT 1 FROM memories AS a WHERE a.state = 'active' AND a.proposal IN (
        -- include: tainted
    )
    LIMIT :number
) AS counted

-- The active memories whose event was declared private under its key, by waiting conflicts.
-- name: declared_private
SELECT a.id
FROM quarantine AS q
JOIN submissions AS s ON s.id = q.submission
JOIN memories AS a ON a.proposal = s.proposal
WHERE q.state = 'waiting' AND q.kind = 'conflict' AND q.visibility = 'private' AND a.state = 'active'

-- name: memories_declared_private
SELECT m.* FROM browsed_memories AS m
WHERE m.id IN (
        -- include: declared_private
    )
    AND m.id < coalesce((SELECT id FROM memories WHERE memory_id = :after), 9223372036854775807)
    AND (:submission_scope = '' OR m.submission_scope = :submission_scope)
    AND (:scope_id = '' OR m.scope_id = :scope_id)
ORDER BY m.id DESC
LIMIT :number

-- name: count_declared_private
SELECT count(*) AS number FROM (
    SELECT 1 FROM memories AS m WHERE m.id IN (
        -- include: declared_private
    )
    LIMIT :number
) AS counted

-- The memories that come up for review, each once, at the earlier of its two times: those whose date has passed, and those
-- that were idle for too long. With `idle` 0 the second does not count.
-- name: due_at
SELECT * FROM (
    SELECT u.memory, u.review_after AS due_at, 'date' AS cause
    FROM upkeep AS u
    JOIN memories AS m ON m.id = u.memory
    WHERE u.active = 1 AND u.review_after IS NOT NULL AND u.review_after < :now
        AND (u.review_after, u.memory) > (:due_at, :memory)
        AND (:idle = 0 OR u.review_after <= u.idle_since + :idle)
        AND (:submission_scope = '' OR m.submission_scope = :submission_scope)
        AND (:scope_id = '' OR m.scope_id = :scope_id)
    ORDER BY u.review_after, u.memory
    LIMIT :number
) AS dated
UNION ALL
SELECT * FROM (
    SELECT u.memory, u.idle_since + :idle AS due_at, 'unread' AS cause
    FROM upkeep AS u
    JOIN memories AS m ON m.id = u.memory
    WHERE u.active = 1 AND :idle > 0 AND u.idle_since < CAST(:now AS BIGINT) - CAST(:idle AS BIGINT)
        AND (u.idle_since, u.memory) > (CAST(:due_at AS BIGINT) - CAST(:idle AS BIGINT), :memory)
        AND (u.review_after IS NULL OR u.review_after > u.idle_since + :idle)
        AND (:submission_scope = '' OR m.submission_scope = :submission_scope)
        AND (:scope_id = '' OR m.scope_id = :scope_id)
    ORDER BY u.idle_since, u.memory
    LIMIT :number
) AS unread

-- name: memories_due
SELECT m.*, near.due_at, near.cause, u.idle_since, u.last_read_at, u.review_after
FROM (
    -- include: due_at
) AS near
JOIN upkeep AS u ON u.memory = near.memory
JOIN browsed_memories AS m ON m.id = near.memory
ORDER BY near.due_at, near.memory
LIMIT :number

-- name: count_due
SELECT count(*) AS number FROM (
    SELECT * FROM (
        -- include: due_at
    ) AS near LIMIT :number
) AS counted
