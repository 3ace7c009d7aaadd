-- name: last_submission
-- Why: the only writer continues from the last row; on PostgreSQL several writers take keys from a sequence.
SELECT coalesce(max(id), 0) AS id FROM (SELECT max(id) AS id FROM submissions UNION ALL SELECT max(id) FROM proposals) AS taken

-- name: mark_old_pages
-- Why: only here do files keep copies of deleted rows that a statement can remove.
INSERT INTO meta (name, value) VALUES ('old_pages', '1') ON CONFLICT (name) DO NOTHING

-- name: unmark_old_pages
-- Why: only here do files keep copies of deleted rows that a statement can remove.
DELETE FROM meta WHERE name = 'old_pages'
