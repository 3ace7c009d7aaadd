-- name: proposal
SELECT p.id, p.proposal_id, p.owner, p.submission_scope, p.scope_id, p.source_event_hash, p.payload, p.edited_payload,
    p.source_span, p.visibility, p.supersedes, p.derived_from, p.observed_at, p.received_at, p.state, p.version, p.withdrawn,
    p.decided_at, p.second, p.redacted_by, maker.producer_identity, coalesce(first.idempotency_key, '') AS idempotency_key,
    coalesce(first.replays, 0) AS replays, coalesce(rules.policy_digest, blind.policy_digest) AS policy_digest,
    coalesce(first.submission_id, '') AS submission_id, target.memory_id AS replaces, target.state AS replaces_state, own.memory_id,
    own.state AS memory_state, c.person AS claimed_by, c.until AS claimed_until,
    coalesce((SELECT f.pending FROM folds AS f WHERE f.id = p.fold), 1) AS like_it
FROM proposals AS p
JOIN producers AS maker ON maker.id = p.producer
LEFT JOIN submissions AS first ON first.id = p.id
LEFT JOIN policies AS rules ON rules.id = first.policy
LEFT JOIN blind_items AS blind ON blind.proposal = p.id
LEFT JOIN claims AS c ON c.proposal = p.id
LEFT JOIN memories AS target ON target.id = p.replaces
LEFT JOIN memories AS own ON own.id = (SELECT max(m.id) FROM memories AS m WHERE m.proposal = p.id)
WHERE p.proposal_id = :proposal_id

-- name: hold_proposal
SELECT id FROM proposals WHERE proposal_id = :proposal_id

-- name: evidence_of_proposal
SELECT e.owner, e.received_at, maker.producer_identity, s.replays
FROM evidence AS e
JOIN producers AS maker ON maker.id = e.producer
JOIN submissions AS s ON s.id = e.submission
WHERE e.proposal = :proposal
ORDER BY e.id

-- name: refused_owners_of_proposal
SELECT q.owner FROM submissions AS o
JOIN quarantine AS q ON q.quarantine_id = substr(o.idempotency_key, 13)
WHERE o.id = :proposal AND substr(o.idempotency_key, 1, 12) = '!quarantine:'
UNION
SELECT q.owner FROM submissions AS o
JOIN proposals AS p ON p.id = o.proposal AND p.producer = o.producer
JOIN quarantine AS q ON q.quarantine_id = substr(o.idempotency_key, 13)
WHERE o.proposal = :proposal AND o.disposition = 'accepted-as-duplicate' AND substr(o.idempotency_key, 1, 12) = '!quarantine:'

-- name: own_duplicates_of_proposal
SELECT count(*) AS submissions, CAST(coalesce(sum(replays), 0) AS BIGINT) AS replays
FROM submissions
WHERE proposal = :proposal AND disposition = 'accepted-as-duplicate' AND duplicate_of IS NOT NULL

-- name: review_records_of_proposal
SELECT r.* FROM told_records AS r WHERE r.proposal = :proposal ORDER BY r.id

-- name: producer_record
SELECT count(*) AS counted,
    CAST(coalesce(sum(CASE WHEN near.decision IN ('approve', 'supersede') THEN 1 ELSE 0 END), 0) AS BIGINT) AS approved,
    CAST(coalesce(sum(CASE WHEN near.decision IN ('reject', 'merge') THEN 1 ELSE 0 END), 0) AS BIGINT) AS rejected,
    CAST(coalesce(sum(CASE WHEN near.decision = 'undo' THEN 1 ELSE 0 END), 0) AS BIGINT) AS overturned
FROM (SELECT proposal, decision FROM review_records ORDER BY id DESC LIMIT 2000) AS near
JOIN proposals AS p ON p.id = near.proposal
JOIN producers AS maker ON maker.id = p.producer
WHERE maker.producer_identity = :producer_identity

-- name: same_text
SELECT r.* FROM told_records AS r
WHERE r.shown_hash = :shown_hash AND (r.proposal IS NULL OR r.proposal <> :proposal)
    AND NOT EXISTS (
        -- A second look does not show the first decision.
        SELECT 1 FROM blind_items AS b JOIN review_records AS o ON o.id = b.record
        WHERE b.proposal = :proposal AND o.proposal = r.proposal
    )
ORDER BY r.id DESC
LIMIT 5

-- name: latest_decisions
SELECT r.* FROM told_records AS r
-- Of one person, among the newest ones: their own may be few among many.
WHERE :person = '' OR (r.person = :person AND r.id > (SELECT max(n.id) FROM review_records AS n) - 2000)
ORDER BY r.id DESC LIMIT :number

-- name: conflicts_of_proposal
SELECT q.quarantine_id, q.received_at, q.keyed, CASE WHEN q.visibility = 'private' THEN 1 ELSE 0 END AS declares_private
FROM quarantine AS q
WHERE q.kind = 'conflict' AND q.submission IN (
    SELECT p.id FROM proposals AS p WHERE p.id = :proposal
    UNION ALL
    SELECT s.id FROM submissions AS s WHERE s.proposal = :proposal AND s.disposition = 'accepted-as-duplicate'
)
ORDER BY q.id

-- name: decision_with_key
SELECT r.decided_at FROM review_records AS r WHERE r.decision_key = :decision_key
UNION ALL
SELECT d.decided_at FROM blind_decisions AS d WHERE d.decision_key = :decision_key

-- name: add_review_record
INSERT INTO review_records (
    review_record_id, proposal, quarantine, version, resulting_version, decision, reason_code, reason_text, curator,
    person, shown, shown_hash, resulting, resulting_hash, approvals_required, self_edit, target, undoes, decision_key,
    policy_digest, decided_at
) VALUES (
    :review_record_id, :proposal, :quarantine, :version, :resulting_version, :decision, :reason_code, :reason_text,
    :curator, :person, :shown, :shown_hash, :resulting, :resulting_hash, :approvals_required,
    :self_edit, (SELECT id FROM memories WHERE memory_id = :target),
    (SELECT id FROM review_records WHERE review_record_id = :undoes), :decision_key, :policy_digest, :decided_at
)
RETURNING id

-- name: move_proposal
UPDATE proposals
SET state = :state, version = :version, edited_payload = :edited_payload, decided_at = :decided_at, begun = :begun,
    second = :second, replaces = (SELECT id FROM memories WHERE memory_id = :replaces)
WHERE id = :proposal AND version = :from_version AND state = :from_state

-- name: count_proposal
INSERT INTO tally (hour, producer, name, channel, lane, number)
SELECT :hour, p.producer, :name, '', :lane, :number FROM proposals AS p WHERE p.id = :proposal
ON CONFLICT (hour, producer, name, channel, lane) DO UPDATE SET number = tally.number + excluded.number

-- name: count_in_fold
UPDATE folds SET pending = pending + :more WHERE id = (SELECT fold FROM proposals WHERE id = :proposal)

-- name: add_memory
INSERT INTO memories (
    memory_id, proposal, version, review_record, payload, text_hash, submission_scope, scope_id, source_span, supersedes,
    derived_from, replaces, admitted_at
)
SELECT :memory_id, p.id, p.version, :review_record, :payload, :text_hash, p.submission_scope, p.scope_id, p.source_span,
    p.supersedes, p.derived_from, p.replaces, :admitted_at
FROM proposals AS p
WHERE p.id = :proposal
RETURNING id

-- name: add_memory_change
INSERT INTO memory_changes (memory, state, review_record, changed_at)
VALUES (:memory, :state, :review_record, :changed_at)

-- name: move_memory
UPDATE memories SET state = :state WHERE id = :memory

-- name: memory_in_scope
SELECT m.memory_id, m.state
FROM memories AS m
WHERE m.memory_id = :memory_id AND m.submission_scope = :submission_scope AND m.scope_id = :scope_id

-- name: memory_near
SELECT m.memory_id, m.payload, m.admitted_at, m.source_span, p.owner, p.received_at, maker.producer_identity
FROM memories AS m
JOIN proposals AS p ON p.id = m.proposal
JOIN producers AS maker ON maker.id = p.producer
WHERE m.id = :memory AND m.state = 'active'

-- name: near_proposals
SELECT
    p.proposal_id,
    p.owner,
    coalesce(p.edited_payload, p.payload) AS payload,
    p.source_span,
    p.received_at,
    maker.producer_identity
FROM proposals AS p
JOIN producers AS maker ON maker.id = p.producer
WHERE p.fold = (SELECT own.fold FROM proposals AS own WHERE own.id = :proposal)
    AND p.state = 'pending' AND p.id <> :proposal
ORDER BY p.id DESC
LIMIT :number

-- name: memory_number
SELECT id, memory_id, state, submission_scope, scope_id, payload FROM memories WHERE memory_id = :memory_id

-- name: hold_memory
SELECT id FROM memories WHERE memory_id = :memory_id

-- name: changes_of_memory
SELECT c.state, c.changed_at, r.review_record_id, r.decision, r.reason_code, r.reason_text, r.person
FROM memory_changes AS c
JOIN review_records AS r ON r.id = c.review_record
WHERE c.memory = :memory
ORDER BY c.id

-- A memory whose text was erased stays ended: there is nothing left to bring back.
-- name: ended_by
SELECT m.memory_id FROM memory_changes AS c
JOIN review_records AS r ON r.id = c.review_record
JOIN memories AS m ON m.id = c.memory
LEFT JOIN erasures AS e ON e.proposal = m.proposal
WHERE r.review_record_id = :review_record_id AND c.state <> 'active' AND e.id IS NULL

-- name: index_memory
INSERT INTO memories_search (rowid, words) VALUES (:memory, :words)

-- name: all_memories
SELECT m.* FROM browsed_memories AS m
WHERE m.id < coalesce((SELECT id FROM memories WHERE memory_id = :after), 9223372036854775807)
    AND (CAST(:at AS BIGINT) IS NULL OR 'active' = (
        SELECT c.state FROM memory_changes AS c WHERE c.memory = m.id AND c.changed_at < :at ORDER BY c.id DESC LIMIT 1
    ))
ORDER BY m.id DESC
LIMIT :number

-- name: memories_by_scope
SELECT m.* FROM browsed_memories AS m
WHERE m.submission_scope = :submission_scope AND m.scope_id = :scope_id
    AND m.id < coalesce((SELECT id FROM memories WHERE memory_id = :after), 9223372036854775807)
    AND (CAST(:at AS BIGINT) IS NULL OR 'active' = (
        SELECT c.state FROM memory_changes AS c WHERE c.memory = m.id AND c.changed_at < :at ORDER BY c.id DESC LIMIT 1
    ))
ORDER BY m.id DESC
LIMIT :number

-- name: all_memories_matching
SELECT m.*
FROM memories_search AS found
JOIN browsed_memories AS m ON m.id = found.rowid
WHERE found.memories_search MATCH :words
    AND m.id < coalesce((SELECT id FROM memories WHERE memory_id = :after), 9223372036854775807)
    AND (:submission_scope = '' OR m.submission_scope = :submission_scope)
    AND (:scope_id = '' OR m.scope_id = :scope_id)
    AND (CAST(:at AS BIGINT) IS NULL OR 'active' = (
        SELECT c.state FROM memory_changes AS c WHERE c.memory = m.id AND c.changed_at < :at ORDER BY c.id DESC LIMIT 1
    ))
ORDER BY m.id DESC
LIMIT :number

-- name: memory
SELECT m.id, m.memory_id, m.payload, m.text_hash, m.submission_scope, m.scope_id, m.source_span, m.supersedes, m.derived_from,
    m.state, m.admitted_at, m.version, p.id AS proposal, p.proposal_id, maker.producer_identity, before.memory_id AS replaces,
    (
        SELECT after.memory_id FROM memories AS after
        WHERE after.replaces = m.id AND after.state <> 'retracted' ORDER BY after.id DESC LIMIT 1
    ) AS replaced_by
FROM memories AS m
JOIN proposals AS p ON p.id = m.proposal
JOIN producers AS maker ON maker.id = p.producer
LEFT JOIN memories AS before ON before.id = m.replaces
WHERE m.memory_id = :memory_id

-- name: derived_from_memory
-- To any depth; UNION drops what was reached before, so that claims in a circle end.
WITH RECURSIVE reached (memory_id) AS (
    SELECT memory_id FROM memories WHERE memory_id = :memory_id
    UNION
    SELECT m.memory_id
    FROM reached AS r
    JOIN derivations AS d ON d.memory_id = r.memory_id
    JOIN memories AS m ON m.proposal = d.proposal
)
SELECT p.proposal_id, p.payload, p.submission_scope, p.scope_id, m.memory_id
FROM proposals AS p
LEFT JOIN memories AS m ON m.proposal = p.id AND m.state = 'active'
WHERE p.id IN (SELECT d.proposal FROM reached AS r JOIN derivations AS d ON d.memory_id = r.memory_id)
    AND (p.state = 'pending' OR m.id IS NOT NULL)
ORDER BY p.id DESC
LIMIT :number

-- name: retracted_sources
WITH RECURSIVE above (memory_id) AS (
    SELECT memory_id FROM derivations WHERE proposal = :proposal
    UNION
    SELECT d.memory_id
    FROM above AS a
    JOIN memories AS m ON m.memory_id = a.memory_id
    JOIN derivations AS d ON d.proposal = m.proposal
)
SELECT m.memory_id FROM above AS a JOIN memories AS m ON m.memory_id = a.memory_id
WHERE m.state = 'retracted'
ORDER BY m.id DESC
LIMIT :number
