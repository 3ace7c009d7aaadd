-- name: add_note
INSERT INTO notes (
    note_id, proposal, kind, curator, person, producer, text, persons, question, note_key, policy_digest, written_at
) VALUES (
    :note_id, :proposal, :kind, :curator, :person, (SELECT id FROM producers WHERE producer_identity = :producer), :text,
    :persons, (SELECT id FROM notes WHERE note_id = :answers), :note_key, :policy_digest, :written_at
)

-- name: open_question_of_note
INSERT INTO open_questions (proposal, question) SELECT n.proposal, n.id FROM notes AS n
WHERE n.note_id = :note_id AND n.proposal = :proposal

-- name: close_question
DELETE FROM open_questions WHERE proposal = :proposal

-- name: attend
INSERT INTO attention (proposal, person, cause) VALUES (:proposal, :person, :cause)
ON CONFLICT (proposal, person, cause) DO NOTHING

-- name: attend_to_answer
INSERT INTO attention (proposal, person, cause)
SELECT o.proposal, n.person, 'answered' FROM open_questions AS o JOIN notes AS n ON n.id = o.question
WHERE o.proposal = :proposal
ON CONFLICT (proposal, person, cause) DO NOTHING

-- name: end_assignment
DELETE FROM attention WHERE proposal = :proposal AND cause = 'assigned'

-- name: end_mention
DELETE FROM attention WHERE proposal = :proposal AND person = :person AND cause = 'mentioned'

-- name: mention
SELECT 1 AS found FROM attention WHERE proposal = :proposal AND person = :person AND cause = 'mentioned'

-- name: end_attention
DELETE FROM attention WHERE proposal = :proposal

-- name: end_attention_of
DELETE FROM attention WHERE proposal = :proposal AND person = :person AND cause IN ('answered', 'mentioned')

-- name: notes_of_proposal
SELECT t.* FROM told_notes AS t WHERE t.proposal = :proposal ORDER BY t.id

-- name: activity_of_proposal
SELECT (SELECT count(*) FROM review_records AS r WHERE r.proposal = :proposal) AS decisions,
    count(*) AS notes, count(n.producer) AS answers
FROM notes AS n WHERE n.proposal = :proposal

-- name: note_with_key
SELECT t.* FROM told_notes AS t
WHERE t.id = (
    SELECT n.id FROM notes AS n
    WHERE n.producer = (SELECT id FROM producers WHERE producer_identity = :producer_identity) AND n.note_key = :note_key
)

-- name: note_of_form
SELECT 1 AS found FROM notes WHERE note_key = :note_key AND curator IS NOT NULL

-- name: proposal_of_submission
SELECT p.proposal_id, CASE WHEN p.producer = s.producer THEN 1 ELSE 0 END AS own
FROM submissions AS s
LEFT JOIN proposals AS p ON p.id = coalesce(s.proposal, (
    -- What a curator redacted and released of a sealed event.
    SELECT o.proposal FROM quarantine AS q
    JOIN submissions AS o ON o.producer = q.producer AND o.idempotency_key = '!quarantine:' || q.quarantine_id
    WHERE q.submission = s.id AND q.kind = 'private'
))
WHERE s.submission_id = :submission_id
    AND s.producer = (SELECT id FROM producers WHERE producer_identity = :producer_identity)

-- name: opened_from_conflict
SELECT 1 AS found FROM submissions AS s
JOIN quarantine AS q ON q.quarantine_id = substr(s.idempotency_key, 13)
WHERE s.id = :proposal AND substr(s.idempotency_key, 1, 12) = '!quarantine:' AND q.kind = 'conflict'

-- name: open_question
SELECT n.note_id, n.person FROM open_questions AS o JOIN notes AS n ON n.id = o.question WHERE o.proposal = :proposal

-- name: turns_of_proposals
SELECT p.id, CASE WHEN o.question IS NULL THEN 0 ELSE 1 END AS asked, a.person AS assigned_to
FROM proposals AS p
LEFT JOIN open_questions AS o ON o.proposal = p.id
LEFT JOIN attention AS a ON a.proposal = p.id AND a.cause = 'assigned'
WHERE p.id IN (
    -- include: listed_proposals
)

-- name: waiting_for_producer
SELECT w.*, coalesce(w.in_fold, 0) AS fold, 9 AS rank, 0 AS turn, 1 AS like_it
-- CROSS JOIN keeps SQLite from reading all waiting proposals first.
FROM open_questions AS o
CROSS JOIN queue_rows AS w
WHERE w.id = o.proposal AND w.state = 'pending'
ORDER BY o.question
LIMIT :number

-- A decided proposal is here if a note after its decision mentions the person.
-- name: attention_of_person
SELECT w.*, coalesce(w.in_fold, 0) AS fold, 9 AS rank, 0 AS turn, 1 AS like_it, a.cause
FROM attention AS a
JOIN queue_rows AS w ON w.id = a.proposal
WHERE a.person = :person
    AND NOT EXISTS (SELECT 1 FROM open_questions AS o WHERE o.proposal = w.id)
ORDER BY a.proposal, a.cause
LIMIT :number

-- name: free_attention
SELECT w.proposal_id
FROM attention AS a
JOIN queue_rows AS w ON w.id = a.proposal
WHERE a.person = :person AND a.proposal > :proposal AND w.state = 'pending' AND w.owner <> :person
    AND (w.claimed_by IS NULL OR w.claimed_by = :person OR w.claimed_until <= :now)
    AND NOT EXISTS (SELECT 1 FROM open_questions AS o WHERE o.proposal = w.id)
    AND NOT EXISTS (
        SELECT 1 FROM review_records AS r
        WHERE r.proposal = w.id AND r.person = :person AND r.resulting_version = w.version
            AND r.decision IN ('approve', 'edit', 'supersede', 'flag')
    )
ORDER BY a.proposal
LIMIT 5

-- name: attention_position
SELECT p.id AS proposal
FROM proposals AS p
JOIN attention AS a ON a.proposal = p.id AND a.person = :person
WHERE p.proposal_id = :proposal_id
LIMIT 1

-- name: kept_from
SELECT 1 AS found FROM open_questions AS o WHERE o.proposal = :proposal
UNION ALL
SELECT 1 FROM attention AS a WHERE a.proposal = :proposal AND a.cause = 'assigned' AND a.person <> :person
UNION ALL
SELECT 1 FROM blind_items AS b
JOIN review_records AS o ON o.id = b.record
JOIN review_records AS r ON r.proposal = o.proposal AND r.person = :person
WHERE b.proposal = :proposal

-- name: exported_notes
SELECT t.*, l.id AS sequence, l.leaf, l.salt
FROM told_notes AS t
JOIN log_leaves AS l ON l.subject = t.note_id
WHERE l.id >= :first AND l.id < :end AND (t.written_at >= :since OR :since IS NULL)
    AND (t.written_at < :until OR :until IS NULL)
    AND (t.submission_scope = :submission_scope OR :submission_scope IS NULL)
    AND (t.scope_id = :scope_id OR :scope_id IS NULL)
    AND (t.producer_identity = :producer_identity OR :producer_identity IS NULL)
    AND NOT EXISTS (SELECT 1 FROM blind_items AS b WHERE b.proposal = t.proposal)
ORDER BY l.id

-- name: logged_notes
SELECT t.note_id, t.proposal_id, t.kind, t.text, t.persons, t.person, t.author, t.answers, t.producer_identity,
    t.submission_scope, t.scope_id, t.policy_digest, t.written_at, e.id AS erased
FROM told_notes AS t
LEFT JOIN erasures AS e ON e.proposal = t.proposal
ORDER BY t.id

-- name: erase_notes
UPDATE notes SET text = '(erased)' WHERE proposal = :id AND kind <> 'assignment'
