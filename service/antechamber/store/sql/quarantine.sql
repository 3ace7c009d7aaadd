-- name: waiting_quarantine
SELECT q.* FROM refused_events AS q
WHERE q.state = 'waiting' AND q.id < coalesce((SELECT id FROM quarantine WHERE quarantine_id = :after), 9223372036854775807)
ORDER BY q.id DESC
LIMIT :number

-- name: quarantined_event
SELECT q.* FROM refused_events AS q WHERE q.quarantine_id = :quarantine_id

-- name: hold_quarantine
SELECT id FROM quarantine WHERE quarantine_id = :quarantine_id

-- name: review_records_of_quarantine
SELECT r.* FROM told_records AS r WHERE r.quarantine = :quarantine ORDER BY r.version

-- name: settle_quarantine
UPDATE quarantine SET state = :state WHERE id = :quarantine

-- name: count_quarantined
SELECT count(*) AS number FROM (SELECT 1 FROM quarantine WHERE state = 'waiting' LIMIT :most) AS counted
