-- name: add_webhook
INSERT INTO webhooks (webhook_id, url, events, allow_private, state, next_sequence, last_alarm, version, attempts, next_at,
    delivered, held_until, created_at)
VALUES (:webhook_id, :url, :events, :allow_private, 'active', :next_sequence, :last_alarm, 0, 0, 0, 0, 0, :created_at)

-- name: webhooks
SELECT id, webhook_id, url, events, allow_private, state, next_sequence, last_alarm, version, attempts, next_at,
    failing_since, last_error, delivered, delivered_at, created_at, holder, held_until
FROM webhooks
WHERE removed_at IS NULL
ORDER BY id

-- name: remove_webhook
UPDATE webhooks SET removed_at = :removed_at, holder = NULL WHERE webhook_id = :webhook_id AND removed_at IS NULL

-- name: rewind_webhook
UPDATE webhooks
SET next_sequence = :sequence, last_alarm = :last_alarm, version = version + 1, state = 'active', attempts = 0, next_at = 0,
    failing_since = NULL, last_error = NULL, holder = NULL
WHERE webhook_id = :webhook_id AND removed_at IS NULL

-- name: add_webhook_replay
INSERT INTO webhook_replays (replay_id, webhook, sequence, replayed_at)
SELECT :replay_id, w.id, CAST(:sequence AS BIGINT), CAST(:replayed_at AS BIGINT) FROM webhooks AS w
WHERE w.webhook_id = :webhook_id

-- name: take_webhook
-- The position has to be the one that was read: another process may have delivered since, and let the endpoint go.
UPDATE webhooks SET holder = :holder, held_until = :until
WHERE id = :id AND version = :version AND state = 'active' AND removed_at IS NULL
    AND next_sequence = :next_sequence AND last_alarm = :last_alarm AND attempts = :attempts AND next_at = :next_at
    AND (holder IS NULL OR holder = :holder OR held_until < :now)

-- name: note_webhook
UPDATE webhooks
SET state = :state, next_sequence = :next_sequence, last_alarm = :last_alarm, attempts = :attempts, next_at = :next_at,
    failing_since = :failing_since, last_error = :last_error, delivered = :delivered, delivered_at = :delivered_at,
    held_until = :until
WHERE id = :id AND version = :version AND holder = :holder AND removed_at IS NULL

-- name: hold_alarms
SELECT 1 AS held

-- name: add_raised_alarm
INSERT INTO raised_alarms (id, source, sequence, raised_at)
SELECT (SELECT coalesce(max(a.id), 0) + 1 FROM raised_alarms AS a), :source,
    (SELECT coalesce(max(l.id) + 1, 0) FROM log_leaves AS l), CAST(:raised_at AS BIGINT)

-- name: drop_raised_alarms
-- The last one stays, so that numbers are never given again.
DELETE FROM raised_alarms
WHERE raised_at < :before AND id < (SELECT max(a.id) FROM raised_alarms AS a)
    AND id <= coalesce((SELECT min(w.last_alarm) FROM webhooks AS w WHERE w.removed_at IS NULL), id)

-- name: raised_alarms
SELECT id, source, sequence, raised_at FROM raised_alarms WHERE id > :after ORDER BY id LIMIT :number

-- name: last_raised_alarm
SELECT coalesce(max(id), 0) AS number FROM raised_alarms WHERE sequence < :before

-- name: logged_webhooks
SELECT webhook_id, url, events, allow_private, created_at FROM webhooks ORDER BY id
