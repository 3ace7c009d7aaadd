-- What several statements read, said once for both engines.

CREATE VIEW audited_records AS
SELECT r.id AS place, l.id AS sequence, l.leaf, l.salt, r.review_record_id, p.proposal_id, r.version, r.resulting_version, r.decision, r.reason_code,
    r.reason_text, u.name AS curator, r.person, r.shown, r.shown_hash, r.resulting, r.resulting_hash, r.approvals_required,
    r.policy_digest, r.decided_at, coalesce(p.submission_scope, q.submission_scope) AS submission_scope,
    coalesce(p.scope_id, q.scope_id) AS scope_id, coalesce(p.source_event_hash, q.source_event_hash) AS source_event_hash,
    maker.producer_identity, m.memory_id, target.memory_id AS target, undone.review_record_id AS undoes, q.quarantine_id
FROM review_records AS r
LEFT JOIN proposals AS p ON p.id = r.proposal
LEFT JOIN quarantine AS q ON q.id = r.quarantine
JOIN producers AS maker ON maker.id = coalesce(p.producer, q.producer)
JOIN users AS u ON u.id = r.curator
JOIN log_leaves AS l ON l.subject = r.review_record_id
LEFT JOIN memories AS m ON m.review_record = r.id
LEFT JOIN memories AS target ON target.id = r.target
LEFT JOIN review_records AS undone ON undone.id = r.undoes;

-- A submission with everything that its receipt says: that of an acceptance is formed from these columns. The outer join
-- does not come last: SQLite merges no such view into a statement.
CREATE VIEW answered_submissions AS
SELECT s.id, s.submission_id, s.producer, maker.producer_identity, s.idempotency_key, s.submission_scope, s.scope_id,
    s.source_event_hash, s.disposition, s.reason_code, s.status, s.fingerprint, s.keyed, s.visibility, p.proposal_id,
    p.state AS proposal_state, s.proposal, rules.policy_digest, s.received_at, s.receipt
FROM submissions AS s
LEFT JOIN proposals AS p ON p.id = s.proposal
JOIN producers AS maker ON maker.id = s.producer
JOIN policies AS rules ON rules.id = s.policy;

-- A row of the queue, wherever in it. The outer join does not come last: SQLite merges no such view into a statement.
CREATE VIEW queue_rows AS
SELECT p.proposal_id, p.payload, p.edited_payload, p.submission_scope, p.scope_id, p.received_at, p.version, p.withdrawn,
    p.owner, maker.producer_identity,
    (SELECT count(DISTINCT e.owner) FROM evidence AS e WHERE e.proposal = p.id AND e.owner <> p.owner) AS owners,
    (SELECT count(*) FROM quarantine AS q WHERE q.submission = p.id)
    + (SELECT count(*) FROM quarantine AS q JOIN submissions AS s ON s.id = q.submission
        WHERE s.proposal = p.id AND s.disposition = 'accepted-as-duplicate') AS conflicts,
    (SELECT count(DISTINCT r.person) FROM review_records AS r
        WHERE r.proposal = p.id AND r.resulting_version = p.version
            AND r.decision IN ('approve', 'edit', 'supersede')) AS approvals,
    p.second, c.person AS claimed_by, c.until AS claimed_until, p.id, p.state, p.begun, p.fold AS in_fold
FROM proposals AS p
LEFT JOIN claims AS c ON c.proposal = p.id
JOIN producers AS maker ON maker.id = p.producer;

-- A refused event beside the one it collided with.
CREATE VIEW refused_events AS
SELECT q.id, q.quarantine_id, q.kind, q.state, q.keyed, q.source_event_hash, q.submission_scope, q.scope_id, q.visibility,
    q.supersedes, q.derived_from, q.payload, q.source_span, q.findings, q.owner, q.received_at, maker.producer_identity,
    CASE WHEN q.kind = 'conflict' THEN s.idempotency_key END AS idempotency_key,
    p.proposal_id, p.payload AS original_payload, p.source_span AS original_span, p.submission_scope AS original_scope,
    p.scope_id AS original_scope_id, s.visibility AS original_visibility, p.supersedes AS original_supersedes,
    p.derived_from AS original_derived_from,
    s.disposition AS original_disposition, s.received_at AS original_received_at,
    -- Who answered for the producer when the original was submitted: an original that joined another producer's proposal
    -- is evidence there.
    CASE WHEN q.kind = 'conflict' THEN
        CASE WHEN p.producer = s.producer THEN p.owner
            ELSE (SELECT e.owner FROM evidence AS e WHERE e.proposal = p.id AND e.producer = s.producer) END
    END AS original_owner,
    (SELECT count(*) FROM review_records AS r WHERE r.quarantine = q.id) AS version,
    (SELECT e.expires_at FROM sealed_events AS e WHERE e.quarantine = q.id AND e.ended_at IS NULL) AS sealed_until,
    (SELECT e.ended_at FROM sealed_events AS e WHERE e.quarantine = q.id) AS unsealed_at,
    (SELECT own.proposal_id FROM submissions AS o JOIN proposals AS own ON own.id = o.proposal
        -- No producer can use that key: its first character is outside the grammar of keys.
        WHERE o.producer = q.producer AND o.idempotency_key = '!quarantine:' || q.quarantine_id) AS opened_as
FROM quarantine AS q
JOIN submissions AS s ON s.id = q.submission
LEFT JOIN proposals AS p ON p.id = s.proposal
JOIN producers AS maker ON maker.id = q.producer;

-- A memory as lists of all of them show it.
CREATE VIEW browsed_memories AS
SELECT m.id, m.memory_id, m.payload, m.submission_scope, m.scope_id, m.state, m.admitted_at, maker.producer_identity
FROM memories AS m
JOIN proposals AS p ON p.id = m.proposal
JOIN producers AS maker ON maker.id = p.producer;

-- Review records with the names and ids that pages and exports show.
CREATE VIEW told_records AS
SELECT r.id, r.review_record_id, r.version, r.resulting_version, r.decision, r.reason_code, r.reason_text,
    u.name AS curator, r.person, r.shown, r.resulting, r.resulting_hash, r.shown_hash, r.policy_digest, r.decided_at,
    target.memory_id AS target, undone.review_record_id AS undoes, r.proposal, r.quarantine, p.proposal_id, q.quarantine_id
FROM review_records AS r
LEFT JOIN proposals AS p ON p.id = r.proposal
LEFT JOIN quarantine AS q ON q.id = r.quarantine
LEFT JOIN memories AS target ON target.id = r.target
LEFT JOIN review_records AS undone ON undone.id = r.undoes
JOIN users AS u ON u.id = r.curator;
