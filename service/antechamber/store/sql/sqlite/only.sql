-- name: last_submission
-- Why: the only writer counts on from the last row; on PostgreSQL several take their keys from a sequence.
SELECT coalesce(max(id), 0) AS id FROM submissions

-- name: log_size
-- Why: the only writer knows the end of the log beforehand; PostgreSQL reads it in the statement that appends.
SELECT coalesce(max(id) + 1, 0) AS size FROM log_leaves
