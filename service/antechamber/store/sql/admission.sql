-- name: producer_id
SELECT id FROM producers WHERE producer_identity = :producer_identity

-- name: add_producer
INSERT INTO producers (producer_identity) VALUES (:producer_identity)
ON CONFLICT (producer_identity) DO NOTHING

-- name: policy_number
SELECT id FROM policies WHERE policy_digest = :policy_digest

-- name: add_policy_number
INSERT INTO policies (policy_digest) VALUES (:policy_digest) ON CONFLICT (policy_digest) DO NOTHING

-- name: known_submission
SELECT s.*
FROM answered_submissions AS s
WHERE s.producer = :producer AND s.idempotency_key = :idempotency_key

-- name: known_proposal
SELECT p.id, p.proposal_id, p.state, own.id AS own_submission, own.submission_id AS own_submission_id
FROM proposals AS p
LEFT JOIN submissions AS own ON own.id = CASE
    WHEN p.producer = :producer THEN p.id
    ELSE (SELECT e.submission FROM evidence AS e WHERE e.proposal = p.id AND e.producer = :producer)
END
WHERE p.submission_scope = :submission_scope AND p.scope_id = :scope_id AND p.source_event_hash = :source_event_hash

-- name: hold_producer
SELECT id FROM producers WHERE id = :producer

-- name: known_conflict
SELECT answer, fingerprint FROM quarantine
WHERE submission = :submission AND fingerprint IN (:fingerprint, :keyed_fingerprint)

-- name: count_conflicts
SELECT count(*) AS number FROM quarantine WHERE submission = :submission AND kind = 'conflict'

-- name: count_waiting
SELECT count(*) AS number FROM quarantine WHERE producer = :producer AND state = 'waiting'

-- name: add_submission
INSERT INTO submissions (
    id, submission_id, producer, idempotency_key, disposition, reason_code, status, submission_scope, scope_id,
    source_event_hash, visibility, fingerprint, keyed, channel, proposal, duplicate_of, policy, received_at, receipt
) VALUES (
    :id, :submission_id, :producer, :idempotency_key, :disposition, :reason_code, :status, :submission_scope, :scope_id,
    :source_event_hash, :visibility, :fingerprint, :keyed, :channel, :proposal, :duplicate_of, :policy, :received_at,
    :receipt
)

-- name: add_proposal
INSERT INTO proposals (
    id, proposal_id, producer, owner, submission_scope, scope_id, source_event_hash, payload, source_span, visibility,
    supersedes, derived_from, observed_at, received_at, redacted_by
) VALUES (
    :id, :proposal_id, :producer, :owner, :submission_scope, :scope_id, :source_event_hash, :payload, :source_span, :visibility,
    :supersedes, :derived_from, :observed_at, :received_at, :redacted_by
)

-- name: add_sealed_event
INSERT INTO sealed_events (quarantine, ciphertext, wrapped_key, key_check, expires_at)
SELECT id, :ciphertext, :wrapped_key, :key_check, :expires_at FROM quarantine WHERE quarantine_id = :quarantine_id

-- name: add_evidence
INSERT INTO evidence (proposal, submission, producer, owner, received_at)
VALUES (:proposal, :submission, :producer, :owner, :received_at)

-- name: add_quarantine
INSERT INTO quarantine (
    quarantine_id, kind, submission, producer, fingerprint, keyed, source_event_hash, submission_scope, scope_id,
    visibility, supersedes, derived_from, payload, source_span, findings, owner, policy_digest, received_at, answer
) VALUES (
    :quarantine_id, :kind, :submission, :producer, :fingerprint, :keyed, :source_event_hash, :submission_scope, :scope_id,
    :visibility, :supersedes, :derived_from, :payload, :source_span, :findings, :owner, :policy_digest, :received_at, :answer
)

-- name: count
INSERT INTO tally (hour, producer, name, channel, lane, number)
VALUES (:hour, :producer, :name, :channel, :lane, :number)
ON CONFLICT (hour, producer, name, channel, lane) DO UPDATE SET number = tally.number + excluded.number

-- name: withdraw_proposal
UPDATE proposals SET withdrawn = 1, version = version + 1
WHERE proposal_id = :proposal_id AND state = 'pending' AND withdrawn = 0

-- name: add_replays
UPDATE submissions SET replays = replays + :attempts WHERE submission_id = :submission_id

-- name: add_producer_replays
INSERT INTO replays (producer, hour, channel, attempts)
SELECT producer, :hour, :channel, :attempts FROM submissions WHERE submission_id = :submission_id
ON CONFLICT (producer, hour, channel) DO UPDATE SET attempts = replays.attempts + excluded.attempts

-- name: give_up_promotion
SELECT 1
