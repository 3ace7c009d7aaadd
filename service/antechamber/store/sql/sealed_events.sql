-- name: sealed_text
SELECT ciphertext, wrapped_key, key_check FROM sealed_events WHERE quarantine = :quarantine AND ended_at IS NULL

-- name: end_sealed_event
UPDATE sealed_events SET ciphertext = NULL, wrapped_key = NULL, ended_at = :ended_at, expired = :expired
WHERE quarantine = :quarantine AND ended_at IS NULL

-- name: expired_sealed_events
SELECT e.quarantine, q.quarantine_id FROM sealed_events AS e JOIN quarantine AS q ON q.id = e.quarantine
WHERE e.ended_at IS NULL AND e.expires_at <= :now
ORDER BY e.expires_at, e.quarantine
LIMIT :number

-- name: add_reveal
INSERT INTO reveals (
    reveal_id, quarantine, pointer, rule_ids, span, reason_text, curator, person, decision_key, policy_digest, revealed_at
) VALUES (
    :reveal_id, :quarantine, :pointer, :rule_ids, :span, :reason_text, :curator, :person, :decision_key, :policy_digest,
    :revealed_at
)

-- name: reveals_of_quarantine
SELECT r.reveal_id, r.pointer, r.rule_ids, r.span, r.reason_text, u.name AS curator, r.person, r.revealed_at
FROM reveals AS r
JOIN users AS u ON u.id = r.curator
WHERE r.quarantine = :quarantine
ORDER BY r.id

-- name: reveal_with_key
SELECT id FROM reveals WHERE decision_key = :decision_key
