-- name: folds_in_line
SELECT w.*, f.id AS fold, f.rank, f.turn, f.pending AS like_it
FROM folds AS f
JOIN queue_rows AS w ON w.id = (SELECT min(m.id) FROM proposals AS m WHERE m.fold = f.id AND m.state = 'pending')
WHERE f.pending > 0 AND (f.rank, f.turn, f.id) > (:rank, :turn, :fold)
ORDER BY f.rank, f.turn, f.id
LIMIT :number

-- The folds of the set in which a filter is looked for. `source` names it, and an index gives it in the queue's order, at
-- most `window` of it. The small sets hold single proposals.
-- name: folds_of_set
SELECT * FROM (
    SELECT f.*, CAST(NULL AS BIGINT) AS own FROM folds AS f
    WHERE :source = 'line' AND f.pending > 0
        AND (f.rank, f.turn, f.id) > (:rank, :turn, :fold)
        AND (f.rank, f.turn, f.id) <= (:to_rank, :to_turn, :to_fold)
    ORDER BY f.rank, f.turn, f.id LIMIT :window
) AS of_line
UNION ALL
SELECT * FROM (
    SELECT f.*, CAST(NULL AS BIGINT) AS own FROM folds AS f
    WHERE :source = 'producer' AND f.pending > 0 AND f.producer = (SELECT id FROM producers WHERE producer_identity = :producer)
        AND (f.rank, f.turn, f.id) > (:rank, :turn, :fold)
        AND (f.rank, f.turn, f.id) <= (:to_rank, :to_turn, :to_fold)
    ORDER BY f.rank, f.turn, f.id LIMIT :window
) AS of_producer
UNION ALL
SELECT * FROM (
    SELECT f.*, CAST(NULL AS BIGINT) AS own FROM folds AS f
    WHERE :source = 'owner' AND f.pending > 0 AND f.owner = :owner
        AND (f.rank, f.turn, f.id) > (:rank, :turn, :fold)
        AND (f.rank, f.turn, f.id) <= (:to_rank, :to_turn, :to_fold)
    ORDER BY f.rank, f.turn, f.id LIMIT :window
) AS of_owner
UNION ALL
SELECT * FROM (
    SELECT f.*, CAST(NULL AS BIGINT) AS own FROM folds AS f
    WHERE :source = 'scope' AND f.pending > 0 AND f.submission_scope = :submission_scope AND f.scope_id = :scope_id
        AND (f.rank, f.turn, f.id) > (:rank, :turn, :fold)
        AND (f.rank, f.turn, f.id) <= (:to_rank, :to_turn, :to_fold)
    ORDER BY f.rank, f.turn, f.id LIMIT :window
) AS of_scope
UNION ALL
SELECT * FROM (
    SELECT f.*, CAST(NULL AS BIGINT) AS own FROM folds AS f
    WHERE :source = 'near' AND f.pending > 1
        AND (f.rank, f.turn, f.id) > (:rank, :turn, :fold)
        AND (f.rank, f.turn, f.id) <= (:to_rank, :to_turn, :to_fold)
    ORDER BY f.rank, f.turn, f.id LIMIT :window
) AS of_near
UNION ALL
SELECT f.*, chosen.id AS own FROM (
    SELECT m.id, m.fold FROM proposals AS m
    WHERE (:source = 'second' OR :source = 'mine') AND m.state = 'pending' AND (m.begun = 1 OR m.second = 1)
    ORDER BY m.id LIMIT :window
) AS chosen
JOIN folds AS f ON f.id = chosen.fold
UNION ALL
SELECT f.*, chosen.id AS own FROM (
    SELECT m.id, m.fold FROM proposals AS m
    WHERE (:source = 'derived') AND m.state = 'pending' AND m.derived_from IS NOT NULL
    ORDER BY m.id LIMIT :window
) AS chosen
JOIN folds AS f ON f.id = chosen.fold
UNION ALL
SELECT f.*, chosen.id AS own FROM (
    SELECT m.id, m.fold FROM proposals AS m
    WHERE :source = 'retracted' AND m.state = 'pending' AND m.id IN (
        -- include: tainted
    )
    ORDER BY m.id LIMIT :window
) AS chosen
JOIN folds AS f ON f.id = chosen.fold
UNION ALL
SELECT f.*, chosen.id AS own FROM (
    SELECT m.id, m.fold FROM attention AS a
    JOIN proposals AS m ON m.id = a.proposal AND m.state = 'pending'
    WHERE :source = 'assigned' AND a.person = :assigned AND a.cause = 'assigned'
    ORDER BY m.id LIMIT :window
) AS chosen
JOIN folds AS f ON f.id = chosen.fold
UNION ALL
SELECT f.*, chosen.id AS own FROM (
    SELECT m.id, m.fold FROM claims AS k
    JOIN proposals AS m ON m.id = k.proposal AND m.state = 'pending'
    WHERE (:source = 'held' OR (:source = 'mine' AND m.begun = 0 AND m.second = 0)) AND k.until > :now
    ORDER BY k.until LIMIT :window
) AS chosen
JOIN folds AS f ON f.id = chosen.fold
UNION ALL
SELECT f.*, chosen.id AS own FROM (
    SELECT m.id, m.fold FROM (
        SELECT DISTINCT s.proposal
        FROM (
            SELECT q.submission FROM quarantine AS q WHERE :source = 'conflict' ORDER BY q.id DESC LIMIT :window
        ) AS refused
        JOIN submissions AS s ON s.id = refused.submission
    ) AS collided
    JOIN proposals AS m ON m.id = collided.proposal AND m.state = 'pending'
    WHERE TRUE
    ORDER BY m.id LIMIT :window
) AS chosen
JOIN folds AS f ON f.id = chosen.fold

-- The keys of what matches a filter, in the queue's order. A set of folds shows of each the oldest proposal that matches.
-- LIMIT and a scalar subquery keep PostgreSQL from joining proposals as a whole.
-- name: queue_matching
SELECT near.proposal, near.fold, near.rank, near.turn, near.pending AS like_it
FROM (
    SELECT f.id AS fold, f.rank, f.turn, f.pending, coalesce(f.own, (
        SELECT min(m.id) FROM proposals AS m
        WHERE m.fold = f.id AND m.state = 'pending' AND (:owner = '' OR m.owner = :owner)
            AND (:producer = '' OR m.producer = (SELECT id FROM producers WHERE producer_identity = :producer))
    )) AS proposal
    FROM (
        -- include: folds_of_set
    ) AS f
    WHERE (f.rank, f.turn, f.id) > (:rank, :turn, :fold) AND (f.rank, f.turn, f.id) <= (:to_rank, :to_turn, :to_fold)
        AND (:submission_scope = '' OR f.submission_scope = :submission_scope)
        AND (:scope_id = '' OR f.scope_id = :scope_id)
        AND (:kind = '' OR f.kind = :kind)
        AND (:producer = '' OR f.own IS NOT NULL
            OR f.producer = (SELECT id FROM producers WHERE producer_identity = :producer))
        AND (:owner = '' OR f.own IS NOT NULL OR f.owner = :owner)
        AND (:near = '' OR (f.pending > 1) = (:near = 'yes'))
        AND (:warning = '' OR (:warning = 'yes' AND f.rank <= 2) OR (:warning = 'no' AND f.rank > 2)
            OR f.marks LIKE '% ' || :warning || ' %')
        AND (:tag = '' OR f.tags LIKE :tag ESCAPE '!')
        AND (:first = '' OR f.content LIKE :first ESCAPE '!')
        AND (:second_word = '' OR f.content LIKE :second_word ESCAPE '!')
        AND (:third = '' OR f.content LIKE :third ESCAPE '!')
        AND (:fourth = '' OR f.content LIKE :fourth ESCAPE '!')
    LIMIT 2 * CAST(:window AS BIGINT)
) AS near
WHERE (
    SELECT 1 FROM proposals AS p
    WHERE p.id = near.proposal AND (:owner = '' OR p.owner = :owner)
        AND (:producer = '' OR p.producer = (SELECT id FROM producers WHERE producer_identity = :producer))
        AND p.received_at >= :earliest AND p.received_at <= :latest
        AND (:second = '' OR (p.begun = 1 OR p.second = 1) = (:second = 'yes'))
        AND (:derived = '' OR (p.derived_from IS NOT NULL) = (:derived = 'yes'))
        AND (:used = '' OR p.derived_from LIKE :used ESCAPE '!')
        AND (:assigned = '' OR EXISTS (
            SELECT 1 FROM attention AS a WHERE a.proposal = p.id AND a.person = :assigned AND a.cause = 'assigned'
        ))
        AND (:conflict = '' OR EXISTS (
            SELECT 1 FROM quarantine AS q WHERE q.submission = p.id
            UNION ALL
            SELECT 1 FROM submissions AS s JOIN quarantine AS q ON q.submission = s.id
            WHERE s.proposal = p.id AND s.disposition = 'accepted-as-duplicate'
        ) = (:conflict = 'yes'))
        AND (:held = '' OR EXISTS (
            SELECT 1 FROM claims AS k WHERE k.proposal = p.id AND k.until > :now AND (:holder = '' OR k.person = :holder)
        ) = (:held = 'yes'))
        AND (:mine = '' OR (EXISTS (
            SELECT 1 FROM claims AS k WHERE k.proposal = p.id AND k.until > :now AND k.person = :person
        ) OR EXISTS (
            SELECT 1 FROM review_records AS r
            WHERE r.proposal = p.id AND r.person = :person AND r.resulting_version = p.version
                AND r.decision IN ('approve', 'edit', 'supersede', 'flag')
        )) = (:mine = 'yes'))
) = 1
ORDER BY near.rank, near.turn, near.fold, near.proposal
LIMIT :number

-- How many rows match a filter, and in how many folds they were looked for: if these are all of `window`, there may be
-- more.
-- name: count_matching
SELECT
    (SELECT count(*) FROM (
        -- include: queue_matching
    ) AS matching) AS number,
    (SELECT count(*) FROM (
        -- include: folds_of_set
    ) AS found) AS looked_through

-- The rows of a filter that says no more than the index of its set.
-- name: count_in_line
SELECT count(*) AS number FROM (
    SELECT * FROM (
        SELECT 1 AS one FROM folds
        WHERE :source = 'line' AND pending > 0 AND (rank, turn, id) <= (:to_rank, :to_turn, :to_fold)
        LIMIT :most
    ) AS of_line
    UNION ALL
    SELECT * FROM (
        SELECT 1 AS one FROM folds
        WHERE :source = 'near' AND pending > 1 AND (rank, turn, id) <= (:to_rank, :to_turn, :to_fold)
        LIMIT :most
    ) AS of_near
) AS counted

-- name: queue_row
SELECT w.* FROM queue_rows AS w WHERE w.id = :id

-- The last fold of a full window of `queue_matching`.
-- name: end_of_window
SELECT * FROM (
    SELECT rank, turn, id AS fold FROM folds WHERE :source = 'line' AND pending > 0
        AND (rank, turn, id) > (:rank, :turn, :fold) AND (rank, turn, id) <= (:to_rank, :to_turn, :to_fold)
    ORDER BY rank, turn, id LIMIT 1 OFFSET :window
) AS of_line
UNION ALL
SELECT * FROM (
    SELECT rank, turn, id AS fold FROM folds WHERE :source = 'producer' AND pending > 0
        AND producer = (SELECT id FROM producers WHERE producer_identity = :producer)
        AND (rank, turn, id) > (:rank, :turn, :fold) AND (rank, turn, id) <= (:to_rank, :to_turn, :to_fold)
    ORDER BY rank, turn, id LIMIT 1 OFFSET :window
) AS of_producer
UNION ALL
SELECT * FROM (
    SELECT rank, turn, id AS fold FROM folds WHERE :source = 'owner' AND pending > 0
        AND owner = :owner
        AND (rank, turn, id) > (:rank, :turn, :fold) AND (rank, turn, id) <= (:to_rank, :to_turn, :to_fold)
    ORDER BY rank, turn, id LIMIT 1 OFFSET :window
) AS of_owner
UNION ALL
SELECT * FROM (
    SELECT rank, turn, id AS fold FROM folds WHERE :source = 'scope' AND pending > 0
        AND submission_scope = :submission_scope AND scope_id = :scope_id
        AND (rank, turn, id) > (:rank, :turn, :fold) AND (rank, turn, id) <= (:to_rank, :to_turn, :to_fold)
    ORDER BY rank, turn, id LIMIT 1 OFFSET :window
) AS of_scope
UNION ALL
SELECT * FROM (
    SELECT rank, turn, id AS fold FROM folds WHERE :source = 'near' AND pending > 1
        AND (rank, turn, id) > (:rank, :turn, :fold) AND (rank, turn, id) <= (:to_rank, :to_turn, :to_fold)
    ORDER BY rank, turn, id LIMIT 1 OFFSET :window
) AS of_near

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

-- Proposals that wait for another person: ones that this person approved, edited or flagged, or may not judge.
-- name: for_others
SELECT w.*, coalesce(w.in_fold, 0) AS fold, 9 AS rank, 0 AS turn, 1 AS like_it
FROM (
    SELECT id FROM proposals WHERE state = 'pending' AND (begun = 1 OR second = 1) ORDER BY id DESC LIMIT :window
) AS near
JOIN queue_rows AS w ON w.id = near.id
WHERE w.owner = :person OR EXISTS (
    SELECT 1 FROM review_records AS r
    WHERE r.proposal = w.id AND r.person = :person AND r.resulting_version = w.version
        AND r.decision IN ('approve', 'edit', 'supersede', 'flag')
)
ORDER BY near.id
LIMIT :number

-- name: count_decided
SELECT count(*) AS number FROM (
    SELECT 1 FROM review_records
    WHERE person = :person AND decided_at >= :since AND decision <> 'undo'
    LIMIT :most
) AS counted

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
        SELECT 1 FROM attention AS a WHERE a.proposal = near.id AND (a.cause = 'assigned' OR a.person = :person)
    )
    AND NOT EXISTS (
        SELECT 1 FROM blind_items AS b JOIN review_records AS o ON o.id = b.record
        JOIN review_records AS r ON r.proposal = o.proposal AND r.person = :person
        WHERE b.proposal = near.id
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
        SELECT 1 FROM attention AS a WHERE a.proposal = near.id AND (a.cause = 'assigned' OR a.person = :person)
    )
    AND NOT EXISTS (
        SELECT 1 FROM blind_items AS b JOIN review_records AS o ON o.id = b.record
        JOIN review_records AS r ON r.proposal = o.proposal AND r.person = :person
        WHERE b.proposal = near.id
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

-- name: group_of_source
SELECT m.proposal_id FROM proposals AS m
WHERE m.state = 'pending' AND m.source = (SELECT source FROM proposals WHERE proposal_id = :proposal_id)
ORDER BY m.id
LIMIT :number

-- name: beside_rows
SELECT p.id, p.contradicts, CASE WHEN substr(own.idempotency_key, 1, 12) = '!quarantine:' THEN 1 ELSE 0 END AS opened,
    (SELECT f.marks FROM folds AS f WHERE f.id = p.fold) AS marks,
    CASE WHEN EXISTS (SELECT 1 FROM derivations AS d WHERE d.proposal = p.id) THEN 1 ELSE 0 END AS derived,
    (
        SELECT count(*) FROM (
            SELECT 1 FROM proposals AS near WHERE near.state = 'pending' AND near.source = p.source LIMIT :most
        ) AS counted
    ) AS of_source
FROM proposals AS p
LEFT JOIN submissions AS own ON own.id = p.id
WHERE p.id IN (
    -- include: listed_proposals
)

-- name: listed_proposals
SELECT value FROM json_each(:proposals)

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
SELECT p.id, p.producer, p.submission_scope, p.scope_id, p.payload, p.source_span, p.supersedes,
    p.derived_from, (SELECT count(*) FROM quarantine AS q WHERE q.submission = p.id) AS conflicts,
    (
        SELECT count(*) FROM submissions AS own WHERE own.id = p.id AND substr(own.idempotency_key, 1, 12) = '!quarantine:'
    ) AS opened
FROM proposals AS p
WHERE p.state = 'pending' AND p.fold IS NULL
ORDER BY p.fold, p.id
LIMIT :number

-- name: fold_heads
SELECT id, content FROM folds
WHERE submission_scope = :submission_scope AND scope_id = :scope_id AND pending > 0
ORDER BY id DESC
LIMIT :number

-- name: folds_like
SELECT id, content FROM (
    SELECT id, content FROM folds
    WHERE submission_scope = :submission_scope AND scope_id = :scope_id AND pending > 0
        AND substr(content, 1, 16) = :beginning
    ORDER BY id DESC
    LIMIT :number
) AS of_beginning
UNION ALL
SELECT id, content FROM (
    SELECT id, content FROM folds
    WHERE submission_scope = :submission_scope AND scope_id = :scope_id AND pending > 0
        AND substr(content, CASE WHEN length(content) > 16 THEN length(content) - 15 ELSE 1 END) = :ending
    ORDER BY id DESC
    LIMIT :number
) AS of_end

-- name: first_turn
SELECT turn FROM folds WHERE pending > 0 AND rank = :rank ORDER BY turn LIMIT 1

-- name: last_turn
SELECT turn FROM folds WHERE producer = :producer AND pending > 0 AND rank = :rank ORDER BY turn DESC LIMIT 1

-- name: add_fold
INSERT INTO folds (submission_scope, scope_id, producer, owner, kind, content, tags, marks, pending, rank, turn)
SELECT p.submission_scope, p.scope_id, p.producer, p.owner, :kind, :content, :tags, :marks, 0, :rank, :turn
FROM proposals AS p WHERE p.id = :proposal
RETURNING id

-- name: note_sorted
UPDATE proposals SET source = :source, contradicts = :contradicts
WHERE id = :proposal AND fold IS NULL AND state = 'pending'

-- name: put_into_fold
UPDATE proposals SET fold = :fold WHERE id = :proposal

-- name: grow_fold
UPDATE folds SET pending = pending + 1, rank = CASE WHEN rank > :rank AND rank < 4 THEN :rank ELSE rank END,
    marks = CASE WHEN marks LIKE '%' || :marks || '%' THEN marks ELSE :marks || substr(marks, 2) END
WHERE id = :fold
