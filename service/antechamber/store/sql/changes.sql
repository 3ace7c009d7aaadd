-- name: add_change
INSERT INTO change_feed (submission_scope, scope_id, sequence, memory, change, changed_at)
SELECT m.submission_scope, m.scope_id, (SELECT max(l.id) FROM log_leaves AS l) - CAST(:back AS BIGINT), m.id,
    CAST(:change AS TEXT), CAST(:changed_at AS BIGINT)
FROM memories AS m
WHERE m.id = CAST(:memory AS BIGINT)
UNION ALL
-- An erasure ends all memories of a proposal at once; its evidence is that of the active one.
SELECT m.submission_scope, m.scope_id, (SELECT max(l.id) FROM log_leaves AS l) - CAST(:back AS BIGINT), m.id,
    CAST(:change AS TEXT), CAST(:changed_at AS BIGINT)
FROM memories AS m
WHERE m.proposal = CAST(:proposal AS BIGINT) AND (m.state = 'active' OR CAST(:change AS TEXT) = 'erased')

-- name: changes_of_scope
SELECT f.sequence, f.change, f.changed_at, m.id AS memory, m.memory_id, m.state,
    CASE WHEN m.state = 'active' THEN length(m.payload) ELSE 0 END AS size
FROM change_feed AS f
JOIN memories AS m ON m.id = f.memory
WHERE f.submission_scope = :submission_scope AND f.scope_id = :scope_id AND f.sequence >= :first
ORDER BY f.sequence, f.memory
LIMIT :number

-- name: changed_scopes
SELECT submission_scope, scope_id, sequence FROM change_feed WHERE sequence > :after ORDER BY sequence

-- name: last_change
SELECT coalesce(max(sequence), 0) AS sequence FROM change_feed

-- name: crossed_changes
WITH recorded AS (
    SELECT c.memory, CASE c.state WHEN 'active' THEN 'admitted' ELSE c.state END AS change, c.changed_at,
        row_number() OVER (PARTITION BY c.memory ORDER BY c.id) AS place
    FROM memory_changes AS c
),
decided AS (
    SELECT f.memory, f.change, f.changed_at, f.sequence,
        row_number() OVER (PARTITION BY f.memory ORDER BY f.sequence) AS place,
        lead(f.sequence) OVER (PARTITION BY f.memory ORDER BY f.sequence) AS following
    FROM change_feed AS f
    JOIN memories AS m ON m.id = f.memory
    JOIN log_leaves AS l ON l.id = f.sequence AND l.subject = m.memory_id
)
SELECT 'memory ' || m.memory_id || ' has another change in the feed than on record' AS finding
FROM recorded AS c
JOIN memories AS m ON m.id = c.memory
LEFT JOIN decided AS f ON f.memory = c.memory AND f.place = c.place
WHERE f.change IS DISTINCT FROM c.change OR f.changed_at IS DISTINCT FROM c.changed_at
UNION ALL
SELECT 'memory ' || m.memory_id || ' has a change in the feed that is not on record'
FROM decided AS f
JOIN memories AS m ON m.id = f.memory
LEFT JOIN recorded AS c ON c.memory = f.memory AND c.place = f.place
WHERE c.memory IS NULL
UNION ALL
SELECT 'memory ' || m.memory_id || ' was erased, and the feed does not say so'
FROM erasures AS e
JOIN memories AS m ON m.proposal = e.proposal
LEFT JOIN log_leaves AS l ON l.subject = e.erasure_id
LEFT JOIN change_feed AS f ON f.sequence = l.id AND f.memory = m.id
WHERE f.change IS DISTINCT FROM 'erased' OR f.changed_at IS DISTINCT FROM e.erased_at
UNION ALL
SELECT 'memory ' || m.memory_id || ' got evidence while it was active, and the feed does not say so'
FROM evidence AS e
JOIN submissions AS s ON s.id = e.submission
JOIN log_leaves AS l ON l.submission = s.id
JOIN memories AS m ON m.proposal = e.proposal
JOIN decided AS d ON d.memory = m.id AND d.change = 'admitted' AND d.sequence < l.id
    AND (d.following IS NULL OR d.following > l.id)
LEFT JOIN change_feed AS f ON f.sequence = l.id AND f.memory = m.id
WHERE f.change IS DISTINCT FROM 'admitted' OR f.changed_at IS DISTINCT FROM s.received_at
UNION ALL
SELECT 'memory ' || m.memory_id || ' has a change in the feed at leaf ' || f.sequence || ', which is about something else'
FROM change_feed AS f
JOIN memories AS m ON m.id = f.memory
LEFT JOIN log_leaves AS l ON l.id = f.sequence
LEFT JOIN erasures AS e ON e.erasure_id = l.subject AND e.proposal = m.proposal
LEFT JOIN submissions AS s ON s.id = l.submission AND s.proposal = m.proposal
WHERE f.submission_scope <> m.submission_scope OR f.scope_id <> m.scope_id OR CASE
    WHEN l.subject = m.memory_id THEN f.change = 'erased'
    WHEN e.id IS NOT NULL THEN f.change <> 'erased'
    WHEN s.id IS NOT NULL THEN f.change <> 'admitted'
    ELSE TRUE
END
