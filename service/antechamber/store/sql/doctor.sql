-- name: crossed_proposals
SELECT 'proposal ' || p.proposal_id || ' has another producer, scope, hash, visibility or time than its submission' AS finding
FROM proposals AS p
LEFT JOIN submissions AS s ON s.id = p.id
WHERE NOT EXISTS (SELECT 1 FROM blind_items AS b WHERE b.proposal = p.id) AND (s.proposal IS DISTINCT FROM p.id OR s.producer IS DISTINCT FROM p.producer
    OR s.submission_scope IS DISTINCT FROM p.submission_scope OR s.scope_id IS DISTINCT FROM p.scope_id
    OR s.source_event_hash IS DISTINCT FROM p.source_event_hash OR s.visibility IS DISTINCT FROM p.visibility
    OR s.received_at IS DISTINCT FROM p.received_at)
ORDER BY p.id

-- name: crossed_states
WITH ends AS (SELECT proposal, max(id) AS id FROM review_records WHERE proposal IS NOT NULL GROUP BY proposal),
decided AS (
    SELECT proposal, max(id) AS id FROM review_records
    WHERE decision IN ('approve', 'edit', 'supersede', 'reject', 'merge') GROUP BY proposal
)
SELECT 'proposal ' || p.proposal_id || ' has another ' || CASE
    WHEN r.id IS NULL AND p.state <> 'pending' OR l.leaf NOT LIKE '%"to":"' || p.state || '","version"%' THEN 'state'
    WHEN p.version < coalesce(r.resulting_version, 1) OR p.version > coalesce(r.resulting_version, 1) + p.withdrawn
        THEN 'version'
    WHEN coalesce(p.edited_payload, p.payload) <> CASE
        WHEN r.id IS NULL THEN p.payload
        WHEN r.resulting IS NOT NULL THEN r.resulting
        WHEN undone.decision NOT IN ('retract', 'expire') THEN undone.shown
        ELSE r.shown
    END THEN 'text'
    WHEN p.begun <> CASE WHEN p.state = 'pending' AND r.resulting IS NOT NULL THEN 1 ELSE 0 END THEN 'number of approvals'
    WHEN p.second <> CASE WHEN EXISTS (
        SELECT 1 FROM review_records AS f WHERE f.proposal = p.id AND f.decision = 'flag'
            AND NOT EXISTS (SELECT 1 FROM review_records AS u WHERE u.undoes = f.id)
    ) THEN 1 ELSE 0 END THEN 'need of a second person'
    WHEN p.replaces IS DISTINCT FROM r.target AND coalesce(r.decision, 'approve') IN ('approve', 'edit', 'supersede')
        THEN 'memory to supersede'
    ELSE 'time of its decision'
END || ' than its review records say' AS finding
FROM proposals AS p
LEFT JOIN ends ON ends.proposal = p.id
LEFT JOIN review_records AS r ON r.id = ends.id
LEFT JOIN review_records AS undone ON undone.id = r.undoes
LEFT JOIN log_leaves AS l ON l.subject = r.review_record_id
LEFT JOIN decided ON decided.proposal = p.id
LEFT JOIN review_records AS d ON d.id = decided.id
WHERE NOT EXISTS (SELECT 1 FROM blind_items AS b WHERE b.proposal = p.id) AND ((r.id IS NULL AND p.state <> 'pending')
    OR l.leaf NOT LIKE '%"to":"' || p.state || '","version"%'
    OR p.version < coalesce(r.resulting_version, 1) OR p.version > coalesce(r.resulting_version, 1) + p.withdrawn
    OR coalesce(p.edited_payload, p.payload) <> CASE
        WHEN r.id IS NULL THEN p.payload
        WHEN r.resulting IS NOT NULL THEN r.resulting
        WHEN undone.decision NOT IN ('retract', 'expire') THEN undone.shown
        ELSE r.shown
    END
    OR p.begun <> CASE WHEN p.state = 'pending' AND r.resulting IS NOT NULL THEN 1 ELSE 0 END
    OR p.second <> CASE WHEN EXISTS (
        SELECT 1 FROM review_records AS f WHERE f.proposal = p.id AND f.decision = 'flag'
            AND NOT EXISTS (SELECT 1 FROM review_records AS u WHERE u.undoes = f.id)
    ) THEN 1 ELSE 0 END
    OR (p.replaces IS DISTINCT FROM r.target AND coalesce(r.decision, 'approve') IN ('approve', 'edit', 'supersede'))
    OR p.decided_at IS DISTINCT FROM CASE WHEN p.state <> 'pending' THEN d.decided_at END)
ORDER BY p.id

-- name: crossed_evidence
SELECT 'submission ' || s.submission_id || ' and the evidence that it is differ' AS finding
FROM submissions AS s
LEFT JOIN evidence AS e ON e.submission = s.id
WHERE (e.id IS NULL) <> (s.disposition <> 'accepted-as-duplicate' OR s.duplicate_of IS NOT NULL)
    OR (e.id IS NOT NULL AND (
        e.proposal IS DISTINCT FROM s.proposal OR e.producer <> s.producer OR e.received_at <> s.received_at
    ))
ORDER BY s.id

-- name: crossed_submissions
SELECT 'submission ' || s.submission_id || ' is kept as another kind of answer than it got' AS finding
FROM submissions AS s
WHERE (s.keyed = 1) <> (s.disposition = 'rejected-private')
    OR (s.fingerprint IS NULL) <> (coalesce(s.reason_code, '') = 'sealed')
ORDER BY s.id

-- name: crossed_quarantine
SELECT 'refused event ' || q.quarantine_id || ' differs from the submission under its key, or from its decisions' AS finding
FROM quarantine AS q
JOIN submissions AS s ON s.id = q.submission
JOIN policies AS rules ON rules.id = s.policy
WHERE q.producer <> s.producer
    OR (q.kind = 'private' AND (
        q.answer <> s.receipt OR q.received_at <> s.received_at OR q.policy_digest <> rules.policy_digest OR q.keyed <> 1
        OR q.fingerprint <> s.fingerprint OR q.submission_scope IS DISTINCT FROM s.submission_scope
        OR q.scope_id IS DISTINCT FROM s.scope_id OR q.visibility IS DISTINCT FROM s.visibility
    ))
    OR q.state <> coalesce((
        SELECT CASE WHEN r.decision = 'undo' THEN 'waiting' ELSE 'settled' END
        FROM review_records AS r WHERE r.quarantine = q.id ORDER BY r.version DESC LIMIT 1
    ), 'waiting')
ORDER BY q.id

-- name: crossed_sealed_events
SELECT 'refused event ' || q.quarantine_id || ' was sealed, and differs from its decisions or its text' AS finding
FROM sealed_events AS e
JOIN quarantine AS q ON q.id = e.quarantine
WHERE q.kind <> 'private' OR q.visibility = 'private' OR (e.ended_at IS NULL) <> (e.wrapped_key IS NOT NULL)
    OR (e.wrapped_key IS NULL) <> (e.ciphertext IS NULL) OR (q.state = 'settled' AND e.ended_at IS NULL)
    OR (e.expired = 1 AND e.ended_at < e.expires_at)
    OR (e.ended_at IS NOT NULL AND e.expired = 0 AND NOT EXISTS (
        SELECT 1 FROM review_records AS r
        WHERE r.quarantine = q.id AND r.decision IN ('release', 'destroy', 'clear') AND r.decided_at = e.ended_at
    ))
UNION ALL
SELECT 'proposal ' || p.proposal_id || ' was redacted by another person than the one of its release, or by none'
FROM proposals AS p
JOIN submissions AS o ON o.id = p.id
LEFT JOIN quarantine AS q ON o.idempotency_key = '!quarantine:' || q.quarantine_id AND q.kind = 'private'
WHERE (q.id IS NULL) <> (p.redacted_by IS NULL)
UNION ALL
SELECT 'review record ' || r.review_record_id || ' makes the redactor of a text its only approver'
FROM review_records AS r
JOIN proposals AS p ON p.id = r.proposal AND p.redacted_by = r.person
WHERE r.decision IN ('approve', 'edit', 'supersede') AND r.approvals_required < 2

-- name: crossed_records
SELECT 'review record ' || r.review_record_id || ' names another person than the account of its curator' AS finding
FROM review_records AS r
JOIN users AS u ON u.id = r.curator
WHERE r.person <> u.person
UNION ALL
SELECT 'review record ' || r.review_record_id || ' needs fewer approvals than a second person who was asked for'
FROM review_records AS r
JOIN review_records AS f ON f.proposal = r.proposal AND f.decision = 'flag' AND f.id < r.id
WHERE r.approvals_required < 2
    AND NOT EXISTS (SELECT 1 FROM review_records AS u WHERE u.undoes = f.id AND u.id <= r.id)
UNION ALL
SELECT 'review record ' || r.review_record_id || ' leads to another version than the one that follows it begins with'
FROM review_records AS r
JOIN review_records AS n
    ON n.id = (SELECT min(m.id) FROM review_records AS m WHERE m.proposal = r.proposal AND m.id > r.id)
JOIN proposals AS p ON p.id = r.proposal
WHERE n.version < r.resulting_version OR n.version > r.resulting_version + p.withdrawn
UNION ALL
SELECT 'review record ' || r.review_record_id || ' leads to another version than its decision'
FROM review_records AS r
WHERE r.resulting_version < r.version OR r.resulting_version > r.version + 1
    OR (r.decision IN ('edit', 'undo') AND r.quarantine IS NULL AND r.resulting_version = r.version
        AND NOT EXISTS (SELECT 1 FROM review_records AS u WHERE u.id = r.undoes AND u.decision IN ('retract', 'expire')))
UNION ALL
SELECT 'review record ' || r.review_record_id || ' lets a person approve alone who did not edit the text, or could not'
FROM review_records AS r
JOIN proposals AS p ON p.id = r.proposal
WHERE r.self_edit = 1 AND (
    r.approvals_required < 2 OR p.redacted_by = r.person OR NOT EXISTS (
        SELECT 1 FROM review_records AS e
        WHERE e.proposal = r.proposal AND e.decision = 'edit' AND e.person = r.person
            AND e.resulting_hash = r.resulting_hash AND e.id <= r.id
    ) OR EXISTS (
        SELECT 1 FROM review_records AS f
        WHERE f.proposal = r.proposal AND f.decision = 'flag' AND f.id < r.id
            AND NOT EXISTS (SELECT 1 FROM review_records AS u WHERE u.undoes = f.id AND u.id <= r.id)
    )
)

-- name: crossed_notes
SELECT 'note ' || n.note_id || ' names another person than the account of its curator, or was written by another producer'
    AS finding
FROM notes AS n
JOIN proposals AS p ON p.id = n.proposal
LEFT JOIN users AS u ON u.id = n.curator
WHERE n.person IS DISTINCT FROM u.person OR (n.producer IS NOT NULL AND n.producer <> p.producer)
UNION ALL
SELECT 'note ' || n.note_id || ' answers no question that was asked before on the same proposal'
FROM notes AS n
LEFT JOIN notes AS q ON q.id = n.question
WHERE n.kind = 'answer' AND (q.kind IS DISTINCT FROM 'question' OR q.proposal <> n.proposal OR q.id >= n.id)
UNION ALL
SELECT 'proposal ' || p.proposal_id || ' waits for an answer that its notes do not wait for'
FROM open_questions AS o
JOIN proposals AS p ON p.id = o.proposal
LEFT JOIN notes AS q ON q.id = o.question
WHERE p.state <> 'pending' OR q.kind IS DISTINCT FROM 'question' OR q.proposal <> o.proposal
    OR EXISTS (SELECT 1 FROM notes AS n WHERE n.question = o.question)
UNION ALL
SELECT 'proposal ' || p.proposal_id || ' is assigned to another person than its last assignment says'
FROM attention AS a
JOIN proposals AS p ON p.id = a.proposal
LEFT JOIN notes AS n
    ON n.id = (SELECT max(m.id) FROM notes AS m WHERE m.proposal = a.proposal AND m.kind = 'assignment')
WHERE a.cause = 'assigned' AND n.persons IS DISTINCT FROM '["' || a.person || '"]'

-- name: crossed_memories
SELECT 'memory ' || m.memory_id || ' has another ' || CASE
    WHEN m.submission_scope IS DISTINCT FROM p.submission_scope OR m.scope_id IS DISTINCT FROM p.scope_id THEN 'scope'
    WHEN m.source_span IS DISTINCT FROM p.source_span THEN 'source'
    WHEN m.supersedes IS DISTINCT FROM p.supersedes
        OR m.derived_from IS DISTINCT FROM p.derived_from THEN 'claim'
    ELSE 'admission'
END || ' than its proposal or review record' AS finding
FROM memories AS m
LEFT JOIN proposals AS p ON p.id = m.proposal
LEFT JOIN review_records AS r ON r.id = m.review_record
WHERE m.submission_scope IS DISTINCT FROM p.submission_scope OR m.scope_id IS DISTINCT FROM p.scope_id
    OR m.source_span IS DISTINCT FROM p.source_span OR m.supersedes IS DISTINCT FROM p.supersedes
    OR m.derived_from IS DISTINCT FROM p.derived_from
    OR r.proposal IS DISTINCT FROM m.proposal OR r.resulting_version IS DISTINCT FROM m.version
    OR r.resulting_hash IS DISTINCT FROM m.text_hash OR r.decided_at IS DISTINCT FROM m.admitted_at
    OR r.target IS DISTINCT FROM m.replaces
ORDER BY m.id

-- name: crossed_folds
SELECT 'row ' || f.id || ' of the queue counts ' || f.pending || ' waiting proposals, and ' || coalesce(w.number, 0) || ' wait in it'
    AS finding
FROM folds AS f
LEFT JOIN (
    SELECT fold, count(*) AS number FROM proposals WHERE state = 'pending' AND fold IS NOT NULL GROUP BY fold
) AS w ON w.fold = f.id
WHERE f.pending <> coalesce(w.number, 0)
UNION ALL
SELECT 'proposal ' || p.proposal_id || ' is in a row of the queue of another scope'
FROM proposals AS p
JOIN folds AS f ON f.id = p.fold
WHERE f.submission_scope <> p.submission_scope OR f.scope_id <> p.scope_id

-- name: shown_folds
SELECT f.id, f.producer, f.owner, f.kind, f.content, f.tags, p.producer AS maker, p.owner AS maker_owner, p.payload
FROM folds AS f
JOIN proposals AS p ON p.fold = f.id
WHERE f.pending > 0
ORDER BY f.id, p.id

-- name: refused_findings
SELECT quarantine_id, findings, answer FROM quarantine ORDER BY id

-- name: crossed_upkeep
SELECT 'memory ' || m.memory_id || ' comes up for review by another state or date than its records say' AS finding
FROM memories AS m
LEFT JOIN upkeep AS u ON u.memory = m.id
WHERE u.active IS DISTINCT FROM CASE WHEN m.state = 'active' THEN 1 ELSE 0 END
    OR u.review_after IS DISTINCT FROM (
        SELECT d.review_after FROM review_dates AS d WHERE d.proposal = m.proposal ORDER BY d.id DESC LIMIT 1
    )
UNION ALL
SELECT 'review date ' || d.review_date_id || ' names another person than the account of its curator'
FROM review_dates AS d
JOIN users AS u ON u.id = d.curator
WHERE d.person <> u.person

-- name: claimed_derivations
SELECT named.id, p.proposal_id, p.derived_from, d.memory_id
FROM (SELECT id FROM proposals WHERE derived_from IS NOT NULL UNION SELECT proposal FROM derivations) AS named
LEFT JOIN proposals AS p ON p.id = named.id
LEFT JOIN derivations AS d ON d.proposal = named.id
ORDER BY named.id

-- name: replayed_webhooks
SELECT r.replay_id, w.webhook_id, r.sequence
FROM webhook_replays AS r
LEFT JOIN webhooks AS w ON w.id = r.webhook
ORDER BY r.id

-- name: owned_submissions
SELECT 'proposal ' || p.proposal_id AS what, p.owner, maker.producer_identity, rules.policy_digest
FROM proposals AS p
JOIN submissions AS s ON s.id = p.id
JOIN policies AS rules ON rules.id = s.policy
JOIN producers AS maker ON maker.id = p.producer
UNION ALL
SELECT 'evidence of submission ' || s.submission_id, e.owner, maker.producer_identity, rules.policy_digest
FROM evidence AS e
JOIN submissions AS s ON s.id = e.submission
JOIN policies AS rules ON rules.id = s.policy
JOIN producers AS maker ON maker.id = e.producer
UNION ALL
SELECT 'refused event ' || q.quarantine_id, q.owner, maker.producer_identity, q.policy_digest
FROM quarantine AS q
JOIN producers AS maker ON maker.id = q.producer

-- name: required_approvals
SELECT r.review_record_id, r.approvals_required, r.self_edit, r.policy_digest, p.submission_scope
FROM review_records AS r
JOIN proposals AS p ON p.id = r.proposal

-- name: granted_tokens
SELECT token_id, name, role, read, digest, expires_at FROM tokens ORDER BY id

-- name: known_users
SELECT u.name, u.person, u.password, (
    SELECT c.password_digest FROM password_changes AS c WHERE c."user" = u.id ORDER BY c.id DESC LIMIT 1
) AS changed
FROM users AS u ORDER BY u.id
