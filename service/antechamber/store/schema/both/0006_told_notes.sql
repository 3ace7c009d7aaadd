-- Notes with the names and ids that pages, producers and exports show.
CREATE VIEW told_notes AS
SELECT n.id, n.note_id, n.proposal, p.proposal_id, n.kind, n.text, n.persons, n.person, n.policy_digest, n.written_at,
    coalesce(u.name, maker.producer_identity) AS author, asked.note_id AS answers, owner.producer_identity,
    p.submission_scope, p.scope_id, n.note_key, n.curator
FROM notes AS n
LEFT JOIN users AS u ON u.id = n.curator
LEFT JOIN producers AS maker ON maker.id = n.producer
LEFT JOIN notes AS asked ON asked.id = n.question
JOIN proposals AS p ON p.id = n.proposal
JOIN producers AS owner ON owner.id = p.producer;
