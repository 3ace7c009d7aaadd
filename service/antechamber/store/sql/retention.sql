-- name: expired_rejections
SELECT p.id, p.proposal_id AS subject, p.decided_at AS since, p.supersedes, p.derived_from, p.payload,
    p.edited_payload, p.source_span
FROM proposals AS p
LEFT JOIN erasures AS e ON e.proposal = p.id
WHERE p.id > :after AND p.submission_scope = :submission_scope AND p.state = 'rejected' AND p.withdrawn = :withdrawn
    AND p.decided_at <= :until AND e.id IS NULL
ORDER BY p.id
LIMIT :number

-- name: expired_memories
SELECT * FROM (
    SELECT p.id, p.proposal_id AS subject, (
            SELECT max(c.changed_at) FROM memory_changes AS c JOIN memories AS m ON m.id = c.memory WHERE m.proposal = p.id
        ) AS since, p.supersedes, p.derived_from, p.payload, p.edited_payload, p.source_span
    FROM proposals AS p
    LEFT JOIN erasures AS e ON e.proposal = p.id
    WHERE p.id > :after AND p.submission_scope = :submission_scope AND p.state = 'approved' AND e.id IS NULL
        AND NOT EXISTS (SELECT 1 FROM memories AS m WHERE m.proposal = p.id AND m.state = 'active')
) AS ended
WHERE ended.since <= :until
ORDER BY ended.id
LIMIT :number

-- name: expired_conflicts
SELECT * FROM (
    SELECT q.id, q.quarantine_id AS subject,
        (SELECT max(r.decided_at) FROM review_records AS r WHERE r.quarantine = q.id) AS since, q.supersedes, q.derived_from,
        q.payload, NULL AS edited_payload, q.source_span
    FROM quarantine AS q
    LEFT JOIN erasures AS e ON e.quarantine = q.id
    WHERE q.id > :after AND q.submission_scope = :submission_scope AND q.kind = 'conflict' AND q.state = 'settled'
        AND q.payload IS NOT NULL AND e.id IS NULL
) AS settled
WHERE settled.since <= :until
ORDER BY settled.id
LIMIT :number

-- The leaves whose salts an erasure deletes.
-- name: leaves_with_text
SELECT l.id AS sequence FROM log_leaves AS l WHERE l.submission = :proposal AND l.salt IS NOT NULL
UNION ALL
SELECT l.id FROM log_leaves AS l WHERE l.salt IS NOT NULL AND l.subject IN (
    SELECT q.quarantine_id FROM quarantine AS q WHERE q.id = :quarantine
    UNION ALL
    SELECT r.review_record_id FROM review_records AS r WHERE r.proposal = :proposal
    UNION ALL
    SELECT r.review_record_id FROM review_records AS r WHERE r.quarantine = :quarantine
    UNION ALL
    SELECT n.note_id FROM notes AS n WHERE n.proposal = :proposal
)
ORDER BY sequence

-- name: add_retention_run
INSERT INTO retention_runs (retention_id, archive, size, items, policy_digest, begun_at)
VALUES (:retention_id, :archive, :size, :items, :policy_digest, :begun_at)

-- name: retention_run
SELECT retention_id, archive, size, items, policy_digest, begun_at FROM retention_runs WHERE archive = :archive

-- name: last_retention_run
SELECT begun_at FROM retention_runs ORDER BY id DESC LIMIT 1

-- name: retention_number
SELECT id FROM retention_runs WHERE retention_id = :retention_id

-- name: logged_retention
SELECT retention_id, archive, size, items, policy_digest, begun_at FROM retention_runs ORDER BY id

-- name: oldest_count
SELECT min(hour) AS hour FROM (
    SELECT min(hour) AS hour FROM tally WHERE hour > 0
    UNION ALL
    SELECT min(hour) FROM replays WHERE hour > 0
) AS counted

-- name: sum_tally
INSERT INTO tally (hour, producer, name, channel, lane, number)
SELECT 0, t.producer, t.name, t.channel, 0, CAST(sum(t.number) AS BIGINT) FROM tally AS t
WHERE t.hour > 0 AND t.hour < :hour
GROUP BY t.producer, t.name, t.channel
ON CONFLICT (hour, producer, name, channel, lane) DO UPDATE SET number = tally.number + excluded.number

-- name: drop_tally
DELETE FROM tally WHERE hour > 0 AND hour < :hour

-- name: sum_replays
INSERT INTO replays (producer, hour, channel, attempts)
SELECT r.producer, 0, r.channel, CAST(sum(r.attempts) AS BIGINT) FROM replays AS r WHERE r.hour > 0 AND r.hour < :hour
GROUP BY r.producer, r.channel
ON CONFLICT (producer, hour, channel) DO UPDATE SET attempts = replays.attempts + excluded.attempts

-- name: drop_replays
DELETE FROM replays WHERE hour > 0 AND hour < :hour
