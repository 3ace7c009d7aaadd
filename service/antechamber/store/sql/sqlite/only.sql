-- name: last_keys
-- Why: the only writer counts on from the last rows; on PostgreSQL several take their keys from sequences.
SELECT
    (SELECT coalesce(max(id), 0) FROM submissions) AS submissions,
    (SELECT coalesce(max(id), 0) FROM proposals) AS proposals
