-- name: append_leaf
-- Why: the same statement reads the end of the log and appends, so that it costs no round trip; SQLite reads it before.
INSERT INTO log_leaves (id, leaf, submission, subject, salt)
SELECT (SELECT coalesce(max(l.id) + 1, 0) FROM log_leaves AS l) + item.ordinal, CAST(item.leaf AS TEXT), item.submission,
    item.subject, item.salt
FROM json_to_recordset(CAST(:items AS JSON))
    AS item (ordinal BIGINT, leaf JSON, submission BIGINT, subject TEXT, salt BYTEA)
ORDER BY item.ordinal

-- name: forget_words
-- Why: full-text search is a tsvector here and FTS5 there, which must be given the words to remove.
DELETE FROM memories_search WHERE memory = :memory

-- name: tidy_words
-- Why: FTS5 keeps removed words until its segments are merged; PostgreSQL leaves that to VACUUM.
SELECT 1 AS done
