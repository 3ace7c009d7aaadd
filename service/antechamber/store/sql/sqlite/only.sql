-- name: last_submission
-- Why: the only writer continues from the last row; on PostgreSQL several writers take keys from a sequence.
SELECT coalesce(max(id), 0) AS id FROM (SELECT max(id) AS id FROM submissions UNION ALL SELECT max(id) FROM proposals) AS taken
