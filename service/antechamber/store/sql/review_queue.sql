-- name: folds_in_line
SELECT w.*, f.id AS fold, f.rank, f.turn, f.pending AS like_it
FROM folds AS f
JOIN queue_rows AS w ON w.id = (SELECT min(m.id) FROM proposals AS m WHERE m.fold = f.id AND m.state = 'pending')
WHERE f.pending > 0 AND (f.rank, f.turn, f.id) > (:rank, :turn, :fold)
ORDER BY f.rank, f.turn, f.id
LIMIT :number

-- name: folds_matching
SELECT w.*, near.id AS fold, near.rank, near.turn, near.pending AS like_it
FROM (
    SELECT f.id, f.rank, f.turn, f.pending
    FROM (
        SELECT id, rank, turn, pending, producer, submission_scope, scope_id, kind, content FROM folds
        WHERE pending > 0 AND (rank, turn, id) > (:rank, :turn, :fold)
        ORDER BY rank, turn, id
        LIMIT :window
    ) AS f
    WHERE (:producer = '' OR f.producer = (SELECT id FROM producers WHERE producer_identity = :producer))
        AND (:submission_scope = '' OR f.submission_scope = :submission_scope)
        AND (:scope_id = '' OR f.scope_id = :scope_id)
        AND (:kind = '' OR f.kind = :kind)
        AND f.rank <= :most_rank
        AND (:assigned = '' OR EXISTS (
            SELECT 1 FROM attention AS a JOIN proposals AS m ON m.id = a.proposal
            WHERE a.person = :assigned AND a.cause = 'assigned' AND m.fold = f.id AND m.state = 'pending'
        ))
        AND f.content LIKE :first ESCAPE '!' AND f.content LIKE :second ESCAPE '!'
        AND f.content LIKE :third ESCAPE '!' AND f.content LIKE :fourth ESCAPE '!'
    ORDER BY f.rank, f.turn, f.id
    LIMIT :number
) AS near
JOIN queue_rows AS w ON w.id = coalesce(
    -- Of near duplicates the one that the filter means.
    (SELECT min(m.id) FROM attention AS a JOIN proposals AS m ON m.id = a.proposal
        WHERE a.person = :assigned AND a.cause = 'assigned' AND m.fold = near.id AND m.state = 'pending'),
    (SELECT min(m.id) FROM proposals AS m WHERE m.fold = near.id AND m.state = 'pending')
)
ORDER BY near.rank, near.turn, near.id

-- name: end_of_window
SELECT rank, turn, id AS fold FROM folds
WHERE pending > 0 AND (rank, turn, id) > (:rank, :turn, :fold)
ORDER BY rank, turn, id
LIMIT 1 OFFSET :window

-- name: unsorted_in_line
SELECT w.*, 0 AS fold, 9 AS rank, 0 AS turn, 1 AS like_it
FROM queue_rows AS w
WHERE w.state = 'pending' AND w.in_fold IS NULL AND w.id > :proposal
ORDER BY w.in_fold, w.id
LIMIT :number

-- name: for_second
SELECT w.*, coalesce(w.in_fold, 0) AS fold, 9 AS rank, 0 AS turn, 1 AS like_it
FROM queue_rows AS w
WHERE w.state = 'pending' AND (w.begun = 1 OR w.second = 1) AND w.id > :proposal AND w.owner <> :person
    AND (w.claimed_by IS NULL OR w.claimed_by = :person OR w.claimed_until <= :free_at)
    AND NOT EXISTS (
        SELECT 1 FROM review_records AS r
        WHERE r.proposal = w.id AND r.person = :person AND r.resulting_version = w.version
            AND r.decision IN ('approve', 'edit', 'supersede', 'flag')
    )
    AND NOT EXISTS (SELECT 1 FROM open_questions AS o WHERE o.proposal = w.id)
ORDER BY w.id
LIMIT :number

-- name: count_pending
SELECT count(*) AS number FROM (SELECT 1 FROM proposals WHERE state = 'pending' LIMIT :most) AS counted

-- name: queue_position
SELECT p.id AS proposal, coalesce(f.id, 0) AS fold, coalesce(f.turn, 0) AS turn,
    CASE WHEN p.begun = 1 OR p.second = 1 THEN -1 ELSE coalesce(f.rank, 9) END AS rank
FROM proposals AS p
LEFT JOIN folds AS f ON f.id = p.fold
WHERE p.proposal_id = :proposal_id

-- name: free_in_line
SELECT near.proposal_id FROM (
    SELECT w.*, f.rank, f.turn, f.id AS fold
    FROM folds AS f
    JOIN queue_rows AS w ON w.id = (SELECT min(m.id) FROM proposals AS m WHERE m.fold = f.id AND m.state = 'pending')
    WHERE f.pending > 0 AND (f.rank, f.turn, f.id) > (:rank, :turn, :fold)
    ORDER BY f.rank, f.turn, f.id
    LIMIT 100
) AS near
WHERE near.begun = 0 AND near.second = 0 AND near.owner <> :person
    AND (near.claimed_by IS NULL OR near.claimed_by = :person OR near.claimed_until <= :now)
    AND NOT EXISTS (SELECT 1 FROM open_questions AS o WHERE o.proposal = near.id)
    AND NOT EXISTS (
        SELECT 1 FROM attention AS a WHERE a.proposal = near.id AND a.cause = 'assigned' AND a.person <> :person
    )
ORDER BY near.rank, near.turn, near.fold
LIMIT 5

-- name: free_unsorted
SELECT near.proposal_id FROM (
    SELECT w.* FROM queue_rows AS w
    WHERE w.state = 'pending' AND w.in_fold IS NULL AND w.id > :proposal
    ORDER BY w.in_fold, w.id
    LIMIT 100
) AS near
WHERE near.begun = 0 AND near.second = 0 AND near.owner <> :person
    AND (near.claimed_by IS NULL OR near.claimed_by = :person OR near.claimed_until <= :now)
    AND NOT EXISTS (SELECT 1 FROM open_questions AS o WHERE o.proposal = near.id)
    AND NOT EXISTS (
        SELECT 1 FROM attention AS a WHERE a.proposal = near.id AND a.cause = 'assigned' AND a.person <> :person
    )
ORDER BY near.id
LIMIT 5

-- name: claim
INSERT INTO claims (proposal, person, until)
SELECT p.id, :person, :until FROM proposals AS p WHERE p.proposal_id = :proposal_id AND p.state = 'pending'
ON CONFLICT (proposal) DO UPDATE SET person = excluded.person, until = excluded.until
WHERE claims.until <= :now OR claims.person = excluded.person OR :override = 1

-- name: release
DELETE FROM claims
WHERE proposal = (SELECT id FROM proposals WHERE proposal_id = :proposal_id) AND (person = :person OR :person IS NULL)

-- name: count_held
SELECT count(*) AS number FROM claims WHERE until > :now AND person <> :person

-- name: group_like
SELECT m.proposal_id FROM proposals AS m
WHERE m.state = 'pending' AND m.fold = (SELECT fold FROM proposals WHERE proposal_id = :proposal_id)
ORDER BY m.id
LIMIT :number

-- name: group_of_producer
SELECT near.proposal_id FROM (
    SELECT p.id, p.proposal_id, p.producer, p.state, p.received_at FROM proposals AS p ORDER BY p.id DESC LIMIT 20000
) AS near
WHERE near.state = 'pending' AND near.received_at >= :since
    AND near.producer = (SELECT id FROM producers WHERE producer_identity = :producer_identity)
ORDER BY near.id
LIMIT :number

-- name: sink_fold
UPDATE folds SET rank = :rank WHERE id = (SELECT fold FROM proposals WHERE proposal_id = :proposal_id)

-- name: unsorted
SELECT p.id, p.producer, p.submission_scope, p.scope_id, p.payload, p.supersedes,
    (SELECT count(*) FROM quarantine AS q WHERE q.submission = p.id) AS conflicts
FROM proposals AS p
WHERE p.state = 'pending' AND p.fold IS NULL
ORDER BY p.fold, p.id
LIMIT :number

-- name: fold_heads
SELECT id, content FROM folds
WHERE submission_scope = :submission_scope AND scope_id = :scope_id AND pending > 0
ORDER BY id DESC
LIMIT :number

-- name: first_turn
SELECT turn FROM folds WHERE pending > 0 AND rank = :rank ORDER BY turn LIMIT 1

-- name: last_turn
SELECT turn FROM folds WHERE producer = :producer AND pending > 0 AND rank = :rank ORDER BY turn DESC LIMIT 1

-- name: add_fold
INSERT INTO folds (submission_scope, scope_id, producer, kind, content, pending, rank, turn)
SELECT p.submission_scope, p.scope_id, p.producer, :kind, :content, 0, :rank, :turn FROM proposals AS p WHERE p.id = :proposal
RETURNING id

-- name: put_into_fold
UPDATE proposals SET fold = :fold WHERE id = :proposal AND fold IS NULL AND state = 'pending'

-- name: grow_fold
UPDATE folds SET pending = pending + 1, rank = CASE WHEN rank > :rank AND rank < 4 THEN :rank ELSE rank END WHERE id = :fold
