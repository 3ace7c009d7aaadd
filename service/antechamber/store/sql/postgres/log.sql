-- name: forget_words
-- Why: full-text search is a tsvector here and FTS5 there, which must be given the words to remove.
DELETE FROM memories_search WHERE memory = :memory

-- name: tidy_words
-- Why: FTS5 keeps removed words until its segments are merged; PostgreSQL leaves that to VACUUM.
SELECT 1 AS done
