-- Both views of review records say where the editor of a text was its only approver.
DROP VIEW audited_records;
CREATE VIEW audited_records AS
SELECT r.id AS place, l.id AS sequence, l.leaf, l.salt, r.review_record_id, p.proposal_id, r.version, r.resulting_version, r.decision, r.reason_code,
    r.reason_text, u.name AS curator, r.person, r.shown, r.shown_hash, r.resulting, r.resulting_hash, r.approvals_required,
    r.policy_digest, r.decided_at, coalesce(p.submission_scope, q.submission_scope) AS submission_scope,
    coalesce(p.scope_id, q.scope_id) AS scope_id, coalesce(p.source_event_hash, q.source_event_hash) AS source_event_hash,
    maker.producer_identity, m.memory_id, target.memory_id AS target, undone.review_record_id AS undoes, q.quarantine_id,
    r.self_edit
FROM review_records AS r
LEFT JOIN proposals AS p ON p.id = r.proposal
LEFT JOIN quarantine AS q ON q.id = r.quarantine
JOIN producers AS maker ON maker.id = coalesce(p.producer, q.producer)
JOIN users AS u ON u.id = r.curator
JOIN log_leaves AS l ON l.subject = r.review_record_id
LEFT JOIN memories AS m ON m.review_record = r.id
LEFT JOIN memories AS target ON target.id = r.target
LEFT JOIN review_records AS undone ON undone.id = r.undoes;

DROP VIEW told_records;
CREATE VIEW told_records AS
SELECT r.id, r.review_record_id, r.version, r.resulting_version, r.decision, r.reason_code, r.reason_text,
    u.name AS curator, r.person, r.shown, r.resulting, r.resulting_hash, r.shown_hash, r.policy_digest, r.decided_at,
    target.memory_id AS target, undone.review_record_id AS undoes, r.proposal, r.quarantine, p.proposal_id, q.quarantine_id,
    r.self_edit
FROM review_records AS r
LEFT JOIN proposals AS p ON p.id = r.proposal
LEFT JOIN quarantine AS q ON q.id = r.quarantine
LEFT JOIN memories AS target ON target.id = r.target
LEFT JOIN review_records AS undone ON undone.id = r.undoes
JOIN users AS u ON u.id = r.curator;
