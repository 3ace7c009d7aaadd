-- name: take_submissions
-- Why: several writers share one table, so unused keys come from its sequence instead of its last row.
SELECT nextval('antechamber.submissions_id_seq') AS id FROM generate_series(1, CAST(:number AS BIGINT))

-- name: index_memory
-- Why: full-text search is a tsvector here and FTS5 there; both index the same words.
INSERT INTO memories_search (memory, words) VALUES (:memory, array_to_tsvector(string_to_array(:words, ' ')))

-- name: wanted_terms
-- Why: the wanted terms are one JSON array, which each engine reads with functions of its own.
SELECT term, position, weight, cover, leads FROM json_to_recordset(CAST(:wanted AS JSON))
    AS item (term BIGINT, position BIGINT, weight BIGINT, cover BIGINT, leads BIGINT)

-- name: records_of_memories
-- Why: the memories are one JSON array, as in wanted_terms.
SELECT m.id AS memory, r.review_record_id, r.person
FROM memories AS m
JOIN review_records AS r ON r.proposal = m.proposal AND r.resulting_version = m.version
    AND r.resulting_hash = m.text_hash AND r.decision IN ('approve', 'edit', 'supersede')
WHERE m.id IN (SELECT CAST(item.value AS BIGINT) FROM json_array_elements_text(CAST(:memories AS JSON)) AS item)
ORDER BY r.id

-- name: listed_proposals
-- Why: the proposals are one JSON array, as in wanted_terms.
SELECT CAST(item.value AS BIGINT) FROM json_array_elements_text(CAST(:proposals AS JSON)) AS item

-- name: all_memories_matching
-- Why: full-text search is a tsvector here and FTS5 there.
SELECT m.*
FROM memories_search AS found
JOIN browsed_memories AS m ON m.id = found.memory
WHERE found.words @@ CAST(replace(:words, ' ', ' & ') AS tsquery)
    AND m.id < coalesce((SELECT id FROM memories WHERE memory_id = :after), 9223372036854775807)
    AND (:submission_scope = '' OR m.submission_scope = :submission_scope)
    AND (:scope_id = '' OR m.scope_id = :scope_id)
    AND (CAST(:at AS BIGINT) IS NULL OR 'active' = (
        SELECT c.state FROM memory_changes AS c WHERE c.memory = m.id AND c.changed_at < :at ORDER BY c.id DESC LIMIT 1
    ))
ORDER BY m.id DESC
LIMIT :number

-- name: register_writer
-- Why: only here can a connection be lost at COMMIT; SQLite's commit is a call that returns.
INSERT INTO writers (writer_id, commits) VALUES (:writer_id, 0) ON CONFLICT (writer_id) DO NOTHING

-- name: mark_commit
-- Why: as register_writer; a transaction that resolve_commit gave up finds a higher number and fails on the NULL.
INSERT INTO writers (writer_id, commits) VALUES (:writer_id, :commits)
ON CONFLICT (writer_id) DO UPDATE
SET commits = CASE WHEN writers.commits < excluded.commits THEN excluded.commits END, seen_at = now()

-- name: resolve_commit
-- Why: as register_writer; it waits until the lost transaction has ended, or blocks one that has not arrived yet.
INSERT INTO writers (writer_id, commits) VALUES (:writer_id, :next)
ON CONFLICT (writer_id) DO UPDATE
SET commits = CASE WHEN writers.commits = :commits THEN writers.commits ELSE excluded.commits END
RETURNING commits

-- name: forget_writers
-- Why: as register_writer.
DELETE FROM writers WHERE writer_id = :writer_id OR seen_at < now() - INTERVAL '1 day'

-- name: announce
-- Why: changes are announced to other processes by NOTIFY; with SQLite there is only one process.
SELECT pg_notify('antechamber', '')

-- name: applied_steps
-- Why: sqlite-utils keeps this list on SQLite.
SELECT name FROM antechamber.steps ORDER BY name

-- name: guards_switched_off
-- Why: an owner can switch triggers off here; SQLite has no such switch, only its own integrity_check.
SELECT t.tgname AS name, c.relname AS relation
FROM pg_catalog.pg_trigger AS t
JOIN pg_catalog.pg_class AS c ON c.oid = t.tgrelid
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'antechamber' AND t.tgenabled NOT IN ('O', 'A')
UNION ALL
SELECT k.conname, c.relname
FROM pg_catalog.pg_constraint AS k
JOIN pg_catalog.pg_class AS c ON c.oid = k.conrelid
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'antechamber' AND NOT k.convalidated

-- name: guards_in_force
-- Why: the catalog holds triggers and rules here; on SQLite each object has its text in sqlite_schema.
SELECT c.relname AS relation, t.tgname AS name, pg_get_triggerdef(t.oid) AS definition, f.proname AS function, f.prosrc AS source
FROM pg_catalog.pg_trigger AS t
JOIN pg_catalog.pg_class AS c ON c.oid = t.tgrelid
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_proc AS f ON f.oid = t.tgfoid
WHERE n.nspname = 'antechamber' AND NOT t.tgisinternal
UNION ALL
SELECT r.tablename, r.rulename, r.definition, NULL, NULL FROM pg_catalog.pg_rules AS r WHERE r.schemaname = 'antechamber'

-- name: database_size
-- Why: the server knows the size of its files; SQLite's files are in the data folder.
SELECT pg_database_size(current_database()) AS bytes

-- name: durability_settings
-- Why: only a server has settings that decide whether a commit can be lost; SQLite's are set by each connection.
SELECT name, setting FROM pg_catalog.pg_settings
WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit', 'synchronous_standby_names')
