-- name: last_submission
-- Why: the only writer counts on from the last row; on PostgreSQL several take their keys from a sequence.
SELECT coalesce(max(id), 0) AS id FROM submissions
