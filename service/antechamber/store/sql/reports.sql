-- name: review_records
SELECT * FROM audited_records
WHERE sequence >= :first AND sequence < :end AND (decided_at >= :since OR :since IS NULL)
    AND (decided_at < :until OR :until IS NULL)
    AND (submission_scope = :submission_scope OR :submission_scope IS NULL)
    AND (scope_id = :scope_id OR :scope_id IS NULL)
    AND (decision = :decision OR :decision IS NULL)
    AND (curator = :curator OR :curator IS NULL)
    AND (producer_identity = :producer_identity OR :producer_identity IS NULL)
    AND (reason_code = :reason_code OR :reason_code IS NULL)
ORDER BY sequence

-- The view audited_records has the record's key as the column place.
-- name: latest_review_records
SELECT * FROM audited_records
WHERE (decided_at >= :since OR :since IS NULL)
    AND (decided_at < :until OR :until IS NULL)
    AND (submission_scope = :submission_scope OR :submission_scope IS NULL)
    AND (scope_id = :scope_id OR :scope_id IS NULL)
    AND (decision = :decision OR :decision IS NULL)
    AND (curator = :curator OR :curator IS NULL)
    AND (producer_identity = :producer_identity OR :producer_identity IS NULL)
    AND (reason_code = :reason_code OR :reason_code IS NULL)
    AND place < coalesce((SELECT id FROM review_records WHERE review_record_id = :after), 9223372036854775807)
ORDER BY place DESC
LIMIT :number

-- name: count_dispositions
SELECT disposition AS name, count(*) AS number FROM submissions GROUP BY disposition
UNION ALL
SELECT 'rejected-conflict', count(*) FROM quarantine WHERE kind = 'conflict'
UNION ALL
SELECT p.state, count(*) FROM proposals AS p
WHERE p.state <> 'pending' AND NOT EXISTS (SELECT 1 FROM blind_items AS b WHERE b.proposal = p.id)
GROUP BY p.state

-- name: listed_submissions
SELECT s.submission_id AS cursor, maker.producer_identity, CASE WHEN s.keyed = 0 THEN s.idempotency_key END AS idempotency_key,
    s.disposition, s.reason_code, s.submission_scope, s.scope_id, s.received_at, s.replays, s.channel, p.proposal_id,
    (SELECT q.quarantine_id FROM quarantine AS q WHERE q.submission = s.id AND q.kind = 'private') AS quarantine_id
FROM (
    SELECT * FROM submissions WHERE submission_id < :before AND submission_id >= :since
    ORDER BY submission_id DESC
    LIMIT :window
) AS s
JOIN producers AS maker ON maker.id = s.producer
LEFT JOIN proposals AS p ON p.id = s.proposal
WHERE (:disposition = '' OR s.disposition = :disposition) AND (:producer = '' OR maker.producer_identity = :producer)
    AND (:submission_scope = '' OR s.submission_scope = :submission_scope) AND (:scope_id = '' OR s.scope_id = :scope_id)
    AND (:reason_code = '' OR s.reason_code = :reason_code)
ORDER BY s.submission_id DESC
LIMIT :number

-- name: end_of_submissions
SELECT submission_id AS cursor FROM submissions WHERE submission_id < :before AND submission_id >= :since
ORDER BY submission_id DESC
LIMIT 1 OFFSET :window

-- name: listed_conflicts
SELECT q.quarantine_id AS cursor, maker.producer_identity, CASE WHEN q.keyed = 0 THEN s.idempotency_key END AS idempotency_key,
    'rejected-conflict' AS disposition, 'key-reused' AS reason_code, q.submission_scope, q.scope_id, q.received_at,
    0 AS replays, NULL AS channel, NULL AS proposal_id, q.quarantine_id
FROM (
    SELECT * FROM quarantine WHERE quarantine_id < :before AND quarantine_id >= :since
    ORDER BY quarantine_id DESC
    LIMIT :window
) AS q
JOIN submissions AS s ON s.id = q.submission
JOIN producers AS maker ON maker.id = q.producer
WHERE q.kind = 'conflict' AND (:producer = '' OR maker.producer_identity = :producer)
    AND (:submission_scope = '' OR q.submission_scope = :submission_scope) AND (:scope_id = '' OR q.scope_id = :scope_id)
    AND (:reason_code = '' OR :reason_code = 'key-reused')
ORDER BY q.quarantine_id DESC
LIMIT :number

-- name: end_of_conflicts
SELECT quarantine_id AS cursor FROM quarantine WHERE quarantine_id < :before AND quarantine_id >= :since
ORDER BY quarantine_id DESC
LIMIT 1 OFFSET :window

-- name: tally_totals
SELECT name, CAST(sum(number) AS BIGINT) AS number FROM tally GROUP BY name ORDER BY name

-- Figures read whole days from daily_counts and daily_attempts, and the hours of the days that are not added yet. CROSS
-- JOIN makes SQLite look up the hours of each producer, instead of reading all replays.
-- name: totals
SELECT name, CAST(sum(number) AS BIGINT) AS number
FROM (
    SELECT name, number FROM daily_counts WHERE day = 0 AND name <> 'attempts'
    UNION ALL
    SELECT name, number FROM tally WHERE hour >= :open_hour
) AS counted
GROUP BY name
ORDER BY name

-- A whole day counts in its first hour.
-- name: counts_by_hour
SELECT hour, name, CAST(sum(number) AS BIGINT) AS number
FROM (
    SELECT day * 24 AS hour, name, number FROM daily_counts WHERE day >= :since_day AND day > 0
    UNION ALL
    SELECT hour, name, number FROM tally WHERE hour >= :open_hour
    UNION ALL
    SELECT r.hour, 'attempts', r.attempts
    FROM producers AS maker CROSS JOIN replays AS r
    WHERE r.producer = maker.id AND r.hour >= :open_hour
) AS counted
GROUP BY hour, name
ORDER BY hour, name

-- name: counts_by_producer
SELECT maker.producer_identity, counted.name, CAST(sum(counted.number) AS BIGINT) AS number
FROM (
    SELECT producer, name, number FROM daily_counts WHERE day >= :since_day AND day > 0 AND name <> 'attempts'
    UNION ALL
    SELECT producer, name, number FROM tally WHERE hour >= :open_hour
) AS counted
JOIN producers AS maker ON maker.id = counted.producer
GROUP BY maker.producer_identity, counted.name
ORDER BY maker.producer_identity, counted.name

-- The sums that retention made of hours before the first day.
-- name: add_summed_counts
INSERT INTO daily_counts (day, producer, name, number)
SELECT 0, producer, name, CAST(sum(number) AS BIGINT) FROM tally WHERE hour = 0 GROUP BY producer, name

-- name: move_last_day
UPDATE meta SET value = :value WHERE name = :name AND value = :before

-- name: add_daily_counts
INSERT INTO daily_counts (day, producer, name, number)
SELECT :day, producer, name, CAST(sum(number) AS BIGINT)
FROM (
    SELECT producer, name, number FROM tally WHERE hour >= :first AND hour < :end
    UNION ALL
    SELECT r.producer, 'attempts', r.attempts
    FROM producers AS maker CROSS JOIN replays AS r
    WHERE r.producer = maker.id AND r.hour >= :first AND r.hour < :end
) AS counted
GROUP BY producer, name

-- name: add_to_sums
INSERT INTO daily_counts (day, producer, name, number)
SELECT 0, producer, name, number FROM daily_counts WHERE day = :day
ON CONFLICT (day, producer, name) DO UPDATE SET number = daily_counts.number + excluded.number

-- name: add_daily_attempts
INSERT INTO daily_attempts (day, producer, channel, submissions, duplicates, replays, worst)
SELECT :day, producer, channel, CAST(sum(submissions) AS BIGINT), CAST(sum(duplicates) AS BIGINT),
    CAST(sum(replays) AS BIGINT), CAST(max((duplicates + replays) * 1000000 / (submissions + replays)) AS BIGINT)
FROM (
    -- include: hourly_attempts
) AS hourly
GROUP BY producer, channel

-- name: hourly_attempts
SELECT producer, channel, hour, CAST(sum(own) AS BIGINT) AS submissions, CAST(sum(joined) AS BIGINT) AS duplicates,
    CAST(sum(repeated) AS BIGINT) AS replays
FROM (
    SELECT t.producer, t.channel, t.hour, t.number AS own,
        CASE WHEN t.name = 'accepted-as-duplicate' THEN t.number ELSE 0 END AS joined, 0 AS repeated
    FROM tally AS t
    WHERE t.hour >= :first AND t.hour < :end AND t.channel <> ''
    UNION ALL
    SELECT r.producer, r.channel, r.hour, 0, 0, r.attempts
    FROM producers AS maker CROSS JOIN replays AS r
    WHERE r.producer = maker.id AND r.hour >= :first AND r.hour < :end
) AS counted
GROUP BY producer, channel, hour

-- name: drop_daily_counts
DELETE FROM daily_counts WHERE day > 0 AND day < :day

-- name: drop_daily_attempts
DELETE FROM daily_attempts WHERE day < :day

-- name: oldest_pending
SELECT p.proposal_id, p.received_at FROM proposals AS p
WHERE p.state = 'pending' AND NOT EXISTS (SELECT 1 FROM blind_items AS b WHERE b.proposal = p.id)
ORDER BY p.received_at
LIMIT 1

-- name: decisions_since
SELECT near.decision, near.reason_code, near.decided_at - p.received_at AS waited
FROM (
    SELECT r.id, r.proposal, r.decision, r.reason_code, r.decided_at FROM review_records AS r
    WHERE r.decided_at >= :since
    ORDER BY r.decided_at DESC, r.id DESC
    LIMIT :most
) AS near
JOIN proposals AS p ON p.id = near.proposal

-- name: retries
SELECT maker.producer_identity, counted.channel, CAST(sum(counted.submissions) AS BIGINT) AS submissions,
    CAST(sum(counted.duplicates) AS BIGINT) AS duplicates, CAST(sum(counted.replays) AS BIGINT) AS replays,
    CAST(max(counted.worst) AS BIGINT) AS worst
FROM (
    SELECT producer, channel, submissions, duplicates, replays, worst FROM daily_attempts WHERE day >= :since_day
    UNION ALL
    SELECT producer, channel, submissions, duplicates, replays,
        CAST((duplicates + replays) * 1000000 / (submissions + replays) AS BIGINT) AS worst
    FROM (
        -- include: hourly_attempts
    ) AS hourly
) AS counted
JOIN producers AS maker ON maker.id = counted.producer
GROUP BY maker.producer_identity, counted.channel
ORDER BY CASE WHEN max(counted.worst) > :marked THEN 0 ELSE 1 END, sum(counted.submissions + counted.replays) DESC,
    maker.producer_identity, counted.channel
LIMIT :number

-- name: meta
SELECT value FROM meta WHERE name = :name

-- name: set_meta
INSERT INTO meta (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- name: memories_without_approval
SELECT m.memory_id FROM memories AS m
WHERE NOT EXISTS (
    SELECT count(*) FROM review_records AS r
    WHERE r.proposal = m.proposal AND r.resulting_version = m.version AND r.decision IN ('approve', 'edit', 'supersede')
        AND r.resulting = m.payload AND r.resulting_hash = m.text_hash
    HAVING count(DISTINCT r.person) >= CASE WHEN max(r.self_edit) = 1 THEN 1 ELSE max(r.approvals_required) END
)

-- name: memories_out_of_step
SELECT m.memory_id FROM memories AS m
WHERE m.state <> coalesce(
    (SELECT c.state FROM memory_changes AS c WHERE c.memory = m.id ORDER BY c.id DESC LIMIT 1), 'without a change'
)

-- name: proposals_for_check
SELECT p.proposal_id, p.payload, p.source_span, p.source_event_hash FROM proposals AS p
WHERE NOT EXISTS (SELECT 1 FROM erasures AS e WHERE e.proposal = p.id)
    AND NOT EXISTS (SELECT 1 FROM blind_items AS b WHERE b.proposal = p.id)
ORDER BY p.id

-- name: memories_for_check
SELECT m.memory_id, m.payload, m.text_hash FROM memories AS m
WHERE NOT EXISTS (SELECT 1 FROM erasures AS e WHERE e.proposal = m.proposal)
ORDER BY m.id

-- name: claim_meta
INSERT INTO meta (name, value) VALUES (:name, :value) ON CONFLICT (name) DO NOTHING

-- name: note_process
INSERT INTO processes (process_id, name, policy_digest, seen_at) VALUES (:process_id, :name, :policy_digest, :seen_at)
ON CONFLICT (process_id) DO UPDATE SET policy_digest = excluded.policy_digest, seen_at = excluded.seen_at

-- name: forget_processes
DELETE FROM processes WHERE process_id = :process_id OR seen_at < :before

-- name: processes
SELECT process_id, name, policy_digest, seen_at FROM processes WHERE seen_at >= :since ORDER BY name, process_id

-- name: review_record
SELECT * FROM audited_records WHERE review_record_id = :review_record_id

-- name: erased_incompletely
SELECT p.proposal_id AS subject FROM erasures AS e JOIN proposals AS p ON p.id = e.proposal WHERE p.payload <> :mark
UNION ALL
SELECT m.memory_id FROM erasures AS e JOIN memories AS m ON m.proposal = e.proposal WHERE m.payload <> :mark
UNION ALL
SELECT r.review_record_id FROM erasures AS e
JOIN review_records AS r ON r.proposal = e.proposal OR r.quarantine = e.quarantine
WHERE r.shown NOT IN (:mark, 'null')
UNION ALL
SELECT n.note_id FROM erasures AS e JOIN notes AS n ON n.proposal = e.proposal WHERE n.text NOT IN ('', '(erased)')
UNION ALL
SELECT q.quarantine_id FROM erasures AS e JOIN quarantine AS q ON q.id = e.quarantine WHERE q.payload IS NOT NULL
