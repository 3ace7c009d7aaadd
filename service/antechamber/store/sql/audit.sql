-- name: log_size
SELECT coalesce(max(id) + 1, 0) AS size FROM log_leaves

-- name: leaf_texts
SELECT leaf FROM log_leaves WHERE id >= :first AND id < :end ORDER BY id

-- name: leaf_of
SELECT id AS sequence, leaf, salt FROM log_leaves WHERE subject = :subject ORDER BY id DESC LIMIT 1

-- name: leaves_of_item
WITH item AS (SELECT id FROM proposals WHERE proposal_id = :proposal_id),
subjects (subject) AS (
    SELECT :proposal_id
    UNION SELECT s.submission_id FROM submissions AS s JOIN item ON s.id = item.id
    UNION SELECT s.submission_id FROM submissions AS s JOIN item ON s.proposal = item.id
        WHERE s.disposition = 'accepted-as-duplicate'
    UNION SELECT q.quarantine_id FROM quarantine AS q JOIN item ON q.submission = item.id WHERE q.kind = 'conflict'
    UNION SELECT r.review_record_id FROM review_records AS r JOIN item ON r.proposal = item.id
    UNION SELECT m.memory_id FROM memories AS m JOIN item ON m.proposal = item.id
    UNION SELECT e.erasure_id FROM erasures AS e JOIN item ON e.proposal = item.id
)
SELECT l.id AS sequence, l.leaf, l.salt
FROM subjects JOIN log_leaves AS l ON l.subject = subjects.subject
ORDER BY l.id
LIMIT 500

-- name: scope_of
WITH about AS (SELECT subject FROM log_leaves WHERE id = :sequence)
SELECT p.submission_scope, p.scope_id FROM about JOIN proposals AS p ON p.proposal_id = about.subject
UNION ALL
SELECT s.submission_scope, s.scope_id FROM about JOIN submissions AS s ON s.submission_id = about.subject
UNION ALL
SELECT q.submission_scope, q.scope_id FROM about JOIN quarantine AS q ON q.quarantine_id = about.subject
UNION ALL
SELECT m.submission_scope, m.scope_id FROM about JOIN memories AS m ON m.memory_id = about.subject
UNION ALL
SELECT coalesce(p.submission_scope, q.submission_scope), coalesce(p.scope_id, q.scope_id)
FROM about
JOIN review_records AS r ON r.review_record_id = about.subject
LEFT JOIN proposals AS p ON p.id = r.proposal
LEFT JOIN quarantine AS q ON q.id = r.quarantine

-- name: changed_since
SELECT id FROM log_leaves WHERE id >= :size AND leaf NOT LIKE '{"action":"export",%' ORDER BY id LIMIT 1

-- name: count_nodes
SELECT coalesce(max(number) + 1, 0) AS number FROM log_nodes WHERE level = :level

-- name: nodes
SELECT hash FROM log_nodes WHERE level = :level AND number >= :first AND number < :end ORDER BY number

-- name: add_node
INSERT INTO log_nodes (level, number, hash) VALUES (:level, :number, :hash) ON CONFLICT (level, number) DO NOTHING

-- name: log_keys
SELECT verifier_key FROM log_keys ORDER BY id

-- name: add_log_key
INSERT INTO log_keys (verifier_key, added_at) VALUES (:verifier_key, :added_at)

-- name: last_checkpoint
SELECT size, note, signed_at FROM checkpoints
WHERE note LIKE coalesce(
    (SELECT substr(k.verifier_key, 1, length(k.verifier_key) - 54) FROM log_keys AS k ORDER BY k.id DESC LIMIT 1), ''
) || '%'
ORDER BY size DESC, id DESC LIMIT 1

-- name: checkpoint_of_size
SELECT size, note, signed_at FROM checkpoints WHERE size = :size ORDER BY id DESC LIMIT 1

-- name: add_checkpoint
INSERT INTO checkpoints (size, note, signed_at) VALUES (:size, :note, :signed_at) ON CONFLICT (note) DO NOTHING

-- name: add_export
INSERT INTO exports (export_id, exported, format, filters, size, actor, role, exported_at)
VALUES (:export_id, :exported, :format, :filters, :size, :actor, :role, :exported_at)

-- name: exports
SELECT export_id, exported, format, filters, size, actor, role, exported_at FROM exports ORDER BY id DESC LIMIT :number

-- name: logged_dispositions
SELECT l.id AS sequence, l.leaf, CASE WHEN coalesce(q.keyed, s.keyed) = 0 THEN l.salt END AS salt,
    CASE WHEN q.id IS NULL AND s.keyed = 0 THEN s.receipt WHEN q.keyed = 0 THEN q.answer END AS receipt,
    CASE WHEN q.id IS NULL THEN p.payload ELSE q.payload END AS payload,
    CASE WHEN q.id IS NULL THEN p.source_span ELSE q.source_span END AS source_span,
    CASE WHEN q.id IS NULL THEN s.submission_scope ELSE q.submission_scope END AS submission_scope,
    CASE WHEN q.id IS NULL THEN s.scope_id ELSE q.scope_id END AS scope_id
FROM log_leaves AS l
LEFT JOIN submissions AS s ON s.submission_id = l.subject
LEFT JOIN quarantine AS q ON q.quarantine_id = l.subject
JOIN producers AS maker ON maker.id = coalesce(s.producer, q.producer)
LEFT JOIN proposals AS p ON p.id = s.id
WHERE l.id >= :first AND l.id < :end
    AND (coalesce(s.received_at, q.received_at) >= :since OR :since IS NULL)
    AND (coalesce(s.received_at, q.received_at) < :until OR :until IS NULL)
    AND (coalesce(s.disposition, 'rejected-conflict') = :disposition OR :disposition IS NULL)
    AND (maker.producer_identity = :producer_identity OR :producer_identity IS NULL)
    AND (coalesce(s.submission_scope, q.submission_scope) = :submission_scope OR :submission_scope IS NULL)
    AND (coalesce(s.scope_id, q.scope_id) = :scope_id OR :scope_id IS NULL)
    AND (CASE WHEN q.id IS NULL THEN s.reason_code ELSE 'key-reused' END = :reason_code OR :reason_code IS NULL)
ORDER BY l.id

-- name: recorded_policies
SELECT policy FROM policy_changes ORDER BY id DESC LIMIT :number

-- name: last_policy
SELECT policy_digest FROM policy_changes ORDER BY id DESC LIMIT 1

-- name: hold_policy
SELECT 1 AS held

-- name: add_policy
INSERT INTO policy_changes (policy_digest, previous, policy, changed_at)
VALUES (:policy_digest, :previous, :policy, :changed_at)

-- name: add_direct_write
INSERT INTO direct_writes (producer_identity, hour, asked_at) VALUES (:producer_identity, :hour, :asked_at)
ON CONFLICT (producer_identity, hour) DO NOTHING

-- name: erasable_proposal
SELECT p.id, p.state, p.submission_scope, p.scope_id, e.id AS erased,
    (SELECT count(*) FROM memories AS m WHERE m.proposal = p.id AND m.state = 'active') AS active
FROM proposals AS p LEFT JOIN erasures AS e ON e.proposal = p.id
WHERE p.proposal_id = :subject

-- name: erasable_event
SELECT q.id, q.state, e.id AS erased FROM quarantine AS q LEFT JOIN erasures AS e ON e.quarantine = q.id
WHERE q.quarantine_id = :subject

-- name: add_erasure
INSERT INTO erasures (erasure_id, proposal, quarantine, reason_code, erased_at)
VALUES (:erasure_id, :proposal, :quarantine, :reason_code, :erased_at)

-- name: erase_proposal
UPDATE proposals SET payload = :mark, edited_payload = NULL, source_span = :span, supersedes = NULL WHERE id = :id

-- name: erase_memories
UPDATE memories SET payload = :mark, source_span = :span, supersedes = NULL WHERE proposal = :id

-- name: erase_records
UPDATE review_records
SET shown = :mark, resulting = CASE WHEN resulting IS NOT NULL THEN :mark END,
    reason_text = CASE WHEN reason_text = '' THEN '' ELSE '(erased)' END
WHERE proposal = :proposal OR quarantine = :quarantine

-- name: other_of_fold
SELECT coalesce(o.edited_payload, o.payload) AS payload FROM proposals AS p JOIN proposals AS o ON o.fold = p.fold
WHERE p.id = :id AND o.id <> p.id AND o.state = 'pending'
ORDER BY o.id
LIMIT 1

-- name: erase_fold
UPDATE folds SET content = :content WHERE id IN (SELECT fold FROM proposals WHERE id = :id)

-- name: erase_event
UPDATE quarantine SET payload = NULL, source_span = NULL, supersedes = NULL WHERE id = :id

-- name: erase_salts
UPDATE log_leaves SET salt = NULL WHERE salt IS NOT NULL AND subject IN (
    SELECT s.submission_id FROM submissions AS s WHERE s.id = :proposal
    UNION ALL
    SELECT q.quarantine_id FROM quarantine AS q WHERE q.id = :quarantine
    UNION ALL
    SELECT r.review_record_id FROM review_records AS r WHERE r.proposal = :proposal
    UNION ALL
    SELECT r.review_record_id FROM review_records AS r WHERE r.quarantine = :quarantine
)

-- name: memories_of_proposal
SELECT id, payload FROM memories WHERE proposal = :id ORDER BY id

-- name: forget_words
INSERT INTO memories_search (memories_search, rowid, words) VALUES ('delete', :memory, :words)

-- name: tidy_words
INSERT INTO memories_search (memories_search) VALUES ('optimize')
