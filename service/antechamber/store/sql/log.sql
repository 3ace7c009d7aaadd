-- The SQL that appends a leaf. Overridden in postgres/locks.sql, where a function finds the end of the log under its lock.
-- name: append_leaf
INSERT INTO log_leaves (id, leaf, submission, subject, salt)
VALUES (:sequence, :leaf, :submission, :subject, :salt)

-- name: leaves_in_order
SELECT id AS sequence, leaf FROM log_leaves ORDER BY id

-- name: leaves_of
SELECT id AS sequence, leaf, salt FROM log_leaves WHERE subject = :subject ORDER BY id

-- name: logged_submissions
SELECT s.submission_id, s.disposition, s.reason_code, rules.policy_digest, s.received_at, s.receipt, i.producer_identity,
    p.payload, p.source_span, l.leaf, l.salt, e.id AS erased, s.idempotency_key, s.status, s.submission_scope, s.scope_id,
    s.source_event_hash, s.visibility, s.fingerprint, s.keyed, p.supersedes, p.derived_from,
    joined.proposal_id, q.quarantine_id, earlier.submission_id AS duplicate_of
FROM submissions AS s
JOIN producers AS i ON i.id = s.producer
JOIN policies AS rules ON rules.id = s.policy
LEFT JOIN proposals AS p ON p.id = s.id
LEFT JOIN proposals AS joined ON joined.id = s.proposal
LEFT JOIN submissions AS earlier ON earlier.id = s.duplicate_of
LEFT JOIN quarantine AS q ON q.submission = s.id AND q.kind = 'private'
LEFT JOIN erasures AS e ON e.proposal = p.id
LEFT JOIN log_leaves AS l ON l.submission = s.id
ORDER BY s.id

-- name: logged_conflicts
SELECT q.quarantine_id, q.policy_digest, q.received_at, q.answer, q.payload, q.source_span, i.producer_identity,
    e.id AS erased, s.submission_id, s.idempotency_key, 'rejected-conflict' AS disposition, 422 AS status,
    q.submission_scope, q.scope_id, q.source_event_hash, NULL AS proposal_id, NULL AS duplicate_of
FROM quarantine AS q
JOIN producers AS i ON i.id = q.producer
JOIN submissions AS s ON s.id = q.submission
LEFT JOIN erasures AS e ON e.quarantine = q.id
WHERE q.kind = 'conflict'
ORDER BY q.id

-- name: logged_decisions
SELECT r.review_record_id, r.decision, r.reason_code, r.reason_text, r.shown, r.resulting, r.policy_digest,
    r.version AS proposal_version, r.self_edit, r.decided_at, r.person, u.name AS curator, maker.producer_identity,
    coalesce(p.submission_scope, q.submission_scope) AS submission_scope, coalesce(p.scope_id, q.scope_id) AS scope_id,
    target.memory_id AS target, e.id AS erased, r.shown_hash, r.resulting_hash, p.proposal_id, q.quarantine_id,
    undone.review_record_id AS undoes
FROM review_records AS r
LEFT JOIN proposals AS p ON p.id = r.proposal
LEFT JOIN quarantine AS q ON q.id = r.quarantine
LEFT JOIN producers AS maker ON maker.id = coalesce(p.producer, q.producer)
LEFT JOIN memories AS target ON target.id = r.target
JOIN users AS u ON u.id = r.curator
LEFT JOIN review_records AS undone ON undone.id = r.undoes
LEFT JOIN erasures AS e ON e.proposal = r.proposal OR e.quarantine = r.quarantine
ORDER BY r.id

-- name: logged_memories
SELECT m.memory_id, c.state, c.changed_at, r.review_record_id, u.name AS curator
FROM memory_changes AS c
JOIN memories AS m ON m.id = c.memory
JOIN review_records AS r ON r.id = c.review_record
JOIN users AS u ON u.id = r.curator
ORDER BY m.id, c.id

-- name: logged_access
SELECT token_id AS subject, 'issue-token' AS action, 'issued' AS became, created_at AS at FROM tokens
UNION ALL
SELECT token_id, 'revoke-token', 'revoked', revoked_at FROM tokens WHERE revoked_at IS NOT NULL
UNION ALL
SELECT u.name, 'add-user',
    coalesce((SELECT c.previous FROM role_changes AS c WHERE c."user" = u.id ORDER BY c.id LIMIT 1), u.role), u.created_at
FROM users AS u
UNION ALL
SELECT u.name, 'change-role',
    CASE WHEN c.id = (SELECT max(l.id) FROM role_changes AS l WHERE l."user" = u.id) THEN u.role ELSE c.role END,
    c.changed_at
FROM role_changes AS c JOIN users AS u ON u.id = c."user"
UNION ALL
SELECT name, 'disable-user', 'disabled', disabled_at FROM users WHERE disabled_at IS NOT NULL
UNION ALL
SELECT proposal_id, 'withdraw', 'withdrawn', NULL FROM proposals WHERE withdrawn = 1
UNION ALL
SELECT q.quarantine_id, 'end-sealed', 'ended', e.ended_at
FROM sealed_events AS e JOIN quarantine AS q ON q.id = e.quarantine
WHERE e.expired = 1
UNION ALL
SELECT 'direct-write ' || producer_identity, 'direct-write',
    CASE WHEN hour = asked_at / 3600000000 THEN 'rejected-invalid' ELSE 'another hour' END, asked_at
FROM direct_writes
UNION ALL
SELECT verifier_key, 'log-key', verifier_key, added_at FROM log_keys
UNION ALL
SELECT substr(digest, 1, 16), 'end-link', 'ended', used_at FROM links WHERE logged = 1
UNION ALL
SELECT substr(digest, 1, 16), 'end-session', 'ended', ended_at FROM sessions WHERE logged = 1
UNION ALL
SELECT webhook_id, 'add-webhook', 'added', created_at FROM webhooks
UNION ALL
SELECT webhook_id, 'remove-webhook', 'removed', removed_at FROM webhooks WHERE removed_at IS NOT NULL
UNION ALL
SELECT replay_id, 'replay-webhook', 'replayed', replayed_at FROM webhook_replays
ORDER BY action, at, subject

-- name: logged_exports
SELECT export_id, exported, format, filters, size, actor, role, exported_at FROM exports ORDER BY id

-- name: logged_erasures
SELECT e.erasure_id, e.reason_code, e.erased_at, p.proposal_id, q.quarantine_id, r.retention_id
FROM erasures AS e
LEFT JOIN proposals AS p ON p.id = e.proposal
LEFT JOIN quarantine AS q ON q.id = e.quarantine
LEFT JOIN retention_runs AS r ON r.id = e.retention
ORDER BY e.id

-- name: logged_reveals
SELECT r.reveal_id, q.quarantine_id, u.name AS curator, r.person, r.pointer, r.rule_ids, r.span, r.reason_text,
    r.policy_digest, r.revealed_at, e.id AS erased
FROM reveals AS r
JOIN quarantine AS q ON q.id = r.quarantine
JOIN users AS u ON u.id = r.curator
LEFT JOIN erasures AS e ON e.quarantine = r.quarantine
ORDER BY r.id

-- name: logged_review_dates
SELECT d.review_date_id, p.proposal_id, u.name AS curator, d.person, d.review_after, d.policy_digest, d.set_at,
    lag(d.review_after) OVER (PARTITION BY d.proposal ORDER BY d.id) AS before, p.submission_scope, p.scope_id
FROM review_dates AS d
JOIN proposals AS p ON p.id = d.proposal
JOIN users AS u ON u.id = d.curator
ORDER BY d.id

-- name: logged_passwords
SELECT c.password_change_id, u.name, c.password_digest, c.actor, c.role, c.changed_at
FROM password_changes AS c
JOIN users AS u ON u.id = c."user"
ORDER BY c.id

-- name: logged_policies
SELECT policy_digest, previous, policy, changed_at FROM policy_changes ORDER BY id

-- name: node_levels
SELECT level, CAST(max(number) + 1 AS BIGINT) AS number FROM log_nodes GROUP BY level ORDER BY level

-- name: checkpoints
SELECT size, note FROM checkpoints ORDER BY id

-- name: nodes_of_level
SELECT number, hash FROM log_nodes WHERE level = :level ORDER BY number

-- name: log_size
SELECT coalesce(max(id) + 1, 0) AS size FROM log_leaves

-- name: leaf_texts
SELECT leaf FROM log_leaves WHERE id >= :first AND id < :end ORDER BY id

-- name: leaf_of
SELECT l.id AS sequence, l.leaf, l.salt FROM log_leaves AS l WHERE l.subject = :subject
UNION ALL
SELECT l.id, l.leaf, l.salt FROM submissions AS s JOIN log_leaves AS l ON l.submission = s.id
WHERE s.submission_id = :subject
ORDER BY sequence DESC LIMIT 1

-- name: leaves_of_item
WITH item AS (SELECT id FROM proposals WHERE proposal_id = :proposal_id),
subjects (subject) AS (
    SELECT :proposal_id
    UNION SELECT q.quarantine_id FROM quarantine AS q JOIN item ON q.submission = item.id WHERE q.kind = 'conflict'
    UNION SELECT r.review_record_id FROM review_records AS r JOIN item ON r.proposal = item.id
    UNION SELECT n.note_id FROM notes AS n JOIN item ON n.proposal = item.id
    UNION SELECT d.review_date_id FROM review_dates AS d JOIN item ON d.proposal = item.id
    UNION SELECT m.memory_id FROM memories AS m JOIN item ON m.proposal = item.id
    UNION SELECT e.erasure_id FROM erasures AS e JOIN item ON e.proposal = item.id
)
SELECT l.id AS sequence, l.leaf, l.salt
FROM log_leaves AS l
WHERE l.id IN (
    SELECT o.id FROM subjects JOIN log_leaves AS o ON o.subject = subjects.subject
    UNION ALL
    SELECT o.id FROM log_leaves AS o WHERE o.submission = (SELECT id FROM item)
    UNION ALL
    SELECT o.id FROM log_leaves AS o WHERE o.submission IN (
        SELECT s.id FROM submissions AS s
        WHERE s.proposal = (SELECT id FROM item) AND s.disposition = 'accepted-as-duplicate'
    )
)
ORDER BY l.id
LIMIT 500

-- name: scope_of
WITH about AS (SELECT submission, subject FROM log_leaves WHERE id = :sequence)
SELECT p.submission_scope, p.scope_id FROM about JOIN proposals AS p ON p.proposal_id = about.subject
UNION ALL
SELECT s.submission_scope, s.scope_id FROM about JOIN submissions AS s ON s.id = about.submission
UNION ALL
SELECT q.submission_scope, q.scope_id FROM about JOIN quarantine AS q ON q.quarantine_id = about.subject
UNION ALL
SELECT m.submission_scope, m.scope_id FROM about JOIN memories AS m ON m.memory_id = about.subject
UNION ALL
SELECT p.submission_scope, p.scope_id
FROM about
JOIN notes AS n ON n.note_id = about.subject
JOIN proposals AS p ON p.id = n.proposal
UNION ALL
SELECT p.submission_scope, p.scope_id
FROM about
JOIN review_dates AS d ON d.review_date_id = about.subject
JOIN proposals AS p ON p.id = d.proposal
UNION ALL
SELECT coalesce(p.submission_scope, q.submission_scope), coalesce(p.scope_id, q.scope_id)
FROM about
JOIN review_records AS r ON r.review_record_id = about.subject
LEFT JOIN proposals AS p ON p.id = r.proposal
LEFT JOIN quarantine AS q ON q.id = r.quarantine

-- name: changed_since
SELECT id AS sequence FROM log_leaves WHERE id >= :size AND leaf NOT LIKE '{"action":"export",%' ORDER BY id LIMIT 1

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
    CASE WHEN q.id IS NULL THEN s.scope_id ELSE q.scope_id END AS scope_id,
    s.disposition, s.submission_id, s.idempotency_key, s.source_event_hash, rules.policy_digest, s.received_at,
    p.proposal_id, maker.producer_identity
FROM log_leaves AS l
LEFT JOIN submissions AS s ON s.id = l.submission
LEFT JOIN policies AS rules ON rules.id = s.policy
LEFT JOIN quarantine AS q ON q.quarantine_id = l.subject
LEFT JOIN proposals AS p ON p.id = s.id
JOIN producers AS maker ON maker.id = coalesce(s.producer, q.producer)
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
INSERT INTO erasures (erasure_id, proposal, quarantine, reason_code, erased_at, retention)
VALUES (:erasure_id, :proposal, :quarantine, :reason_code, :erased_at, :retention)

-- name: erase_proposal
UPDATE proposals
SET payload = :mark, edited_payload = NULL, source_span = :span, supersedes = NULL, derived_from = NULL
WHERE id = :id

-- name: answer_of_proposal
SELECT s.* FROM answered_submissions AS s WHERE s.id = :id

-- name: keep_receipt
UPDATE submissions SET receipt = :receipt WHERE id = :id

-- name: erase_memories
UPDATE memories SET payload = :mark, source_span = :span, supersedes = NULL, derived_from = NULL WHERE proposal = :id

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
UPDATE folds SET content = :content, tags = :tags WHERE id IN (SELECT fold FROM proposals WHERE id = :id)

-- name: erase_event
UPDATE quarantine SET payload = NULL, source_span = NULL, supersedes = NULL, derived_from = NULL WHERE id = :id

-- name: erase_salts
UPDATE log_leaves SET salt = NULL WHERE salt IS NOT NULL AND id IN (
    SELECT l.id FROM log_leaves AS l WHERE l.submission = :proposal
    UNION ALL
    SELECT l.id FROM log_leaves AS l WHERE l.subject IN (
        SELECT q.quarantine_id FROM quarantine AS q WHERE q.id = :quarantine
        UNION ALL
        SELECT r.review_record_id FROM review_records AS r WHERE r.proposal = :proposal
        UNION ALL
        SELECT r.review_record_id FROM review_records AS r WHERE r.quarantine = :quarantine
        UNION ALL
        SELECT v.reveal_id FROM reveals AS v WHERE v.quarantine = :quarantine
        UNION ALL
        SELECT n.note_id FROM notes AS n WHERE n.proposal = :proposal
        UNION ALL
        SELECT b.blind_item_id FROM blind_items AS b WHERE b.proposal = :proposal
    )
)

-- name: erase_reveals
UPDATE reveals SET reason_text = '(erased)' WHERE quarantine = :id

-- name: memories_of_proposal
SELECT id, payload FROM memories WHERE proposal = :id ORDER BY id

-- name: forget_words
INSERT INTO memories_search (memories_search, rowid, words) VALUES ('delete', :memory, :words)

-- name: tidy_words
INSERT INTO memories_search (memories_search) VALUES ('optimize')
