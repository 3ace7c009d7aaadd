-- name: add_leaf
INSERT INTO log_leaves (id, leaf, subject, salt) VALUES (:id, :leaf, :subject, :salt)

-- name: leaves_in_order
SELECT id, leaf FROM log_leaves ORDER BY id

-- name: leaves_of
SELECT id, leaf, salt FROM log_leaves WHERE subject = :subject ORDER BY id

-- name: logged_submissions
SELECT s.submission_id, s.disposition, s.reason_code, s.policy_digest, s.received_at, s.receipt, i.producer_identity,
    p.payload, p.source_span, l.leaf, l.salt, e.id AS erased, s.idempotency_key, s.status, s.submission_scope, s.scope_id,
    s.source_event_hash, s.visibility, s.fingerprint, s.keyed, p.supersedes, joined.proposal_id, q.quarantine_id,
    earlier.submission_id AS duplicate_of
FROM submissions AS s
JOIN producers AS i ON i.id = s.producer
LEFT JOIN proposals AS p ON p.id = s.id
LEFT JOIN proposals AS joined ON joined.id = s.proposal
LEFT JOIN submissions AS earlier ON earlier.id = s.duplicate_of
LEFT JOIN quarantine AS q ON q.submission = s.id AND q.kind = 'private'
LEFT JOIN erasures AS e ON e.proposal = p.id
LEFT JOIN log_leaves AS l ON l.subject = s.submission_id
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
    r.version AS proposal_version, r.decided_at, r.person, u.name AS curator, maker.producer_identity,
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
SELECT name, 'add-user', role, created_at FROM users
UNION ALL
SELECT name, 'disable-user', 'disabled', disabled_at FROM users WHERE disabled_at IS NOT NULL
UNION ALL
SELECT proposal_id, 'withdraw', 'withdrawn', NULL FROM proposals WHERE withdrawn = 1
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
ORDER BY action, at, subject

-- name: logged_exports
SELECT export_id, exported, format, filters, size, actor, role, exported_at FROM exports ORDER BY id

-- name: logged_erasures
SELECT e.erasure_id, e.reason_code, e.erased_at, p.proposal_id, q.quarantine_id
FROM erasures AS e
LEFT JOIN proposals AS p ON p.id = e.proposal
LEFT JOIN quarantine AS q ON q.id = e.quarantine
ORDER BY e.id

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
