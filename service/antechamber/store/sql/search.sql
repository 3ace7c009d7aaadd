-- The search index holds active memories only. Ranked by best_memories, whose arithmetic is core.search.ranking's.

-- name: count_in_search_scope
INSERT INTO search_scopes (submission_scope, scope_id, memories, length)
VALUES (:submission_scope, :scope_id, 1, :length)
ON CONFLICT (submission_scope, scope_id) DO UPDATE
SET memories = search_scopes.memories + 1, length = search_scopes.length + excluded.length

-- name: uncount_in_search_scope
UPDATE search_scopes SET memories = memories - 1, length = length - :length
WHERE submission_scope = :submission_scope AND scope_id = :scope_id

-- name: count_search_term
INSERT INTO search_terms (scope, term, memories)
SELECT id, :term, 1 FROM search_scopes WHERE submission_scope = :submission_scope AND scope_id = :scope_id
ON CONFLICT (scope, term) DO UPDATE SET memories = search_terms.memories + 1

-- name: uncount_search_term
UPDATE search_terms SET memories = memories - 1
WHERE scope = (SELECT id FROM search_scopes WHERE submission_scope = :submission_scope AND scope_id = :scope_id)
    AND term = :term

-- name: forget_search_term
DELETE FROM search_terms
WHERE scope = (SELECT id FROM search_scopes WHERE submission_scope = :submission_scope AND scope_id = :scope_id)
    AND term = :term AND memories = 0

-- name: count_search_word
INSERT INTO search_words (scope, word, reversed, term, memories)
SELECT id, :word, :reversed, :term, 1 FROM search_scopes
WHERE submission_scope = :submission_scope AND scope_id = :scope_id
ON CONFLICT (scope, word) DO UPDATE SET memories = search_words.memories + 1

-- name: uncount_search_word
UPDATE search_words SET memories = memories - 1
WHERE scope = (SELECT id FROM search_scopes WHERE submission_scope = :submission_scope AND scope_id = :scope_id)
    AND word = :word

-- name: forget_search_word
DELETE FROM search_words
WHERE scope = (SELECT id FROM search_scopes WHERE submission_scope = :submission_scope AND scope_id = :scope_id)
    AND word = :word AND memories = 0

-- name: add_search_posting
INSERT INTO search_postings (term, memory, frequency, length)
SELECT t.id, :memory, :frequency, :length
FROM search_terms AS t
JOIN search_scopes AS s ON s.id = t.scope
WHERE s.submission_scope = :submission_scope AND s.scope_id = :scope_id AND t.term = :term

-- name: remove_search_posting
DELETE FROM search_postings
WHERE memory = :memory AND term = (
    SELECT t.id FROM search_terms AS t
    JOIN search_scopes AS s ON s.id = t.scope
    WHERE s.submission_scope = :submission_scope AND s.scope_id = :scope_id AND t.term = :term
)

-- name: search_scope
SELECT id, memories, length FROM search_scopes WHERE submission_scope = :submission_scope AND scope_id = :scope_id

-- name: search_term
SELECT id, term, memories FROM search_terms WHERE scope = :scope AND term = :term

-- name: near_words
SELECT word, term, memories FROM search_words
WHERE scope = :scope AND word >= :beginning AND word < :after_beginning
    AND length(word) >= :shortest AND length(word) <= :longest
UNION
SELECT word, term, memories FROM search_words
WHERE scope = :scope AND reversed >= :end AND reversed < :after_end
    AND length(word) >= :shortest AND length(word) <= :longest

-- name: wanted_terms
SELECT json_extract(value, '$.term') AS term, json_extract(value, '$.position') AS position,
    json_extract(value, '$.weight') AS weight, json_extract(value, '$.cover') AS cover,
    json_extract(value, '$.leads') AS leads
FROM json_each(:wanted)

-- name: best_memories
WITH wanted AS MATERIALIZED (
    -- include: wanted_terms
),
led AS MATERIALIZED (
    SELECT p.memory, w.position, max(w.cover) AS cover, max(
        w.weight * 2200 * p.frequency / (1000 * p.frequency + 300 + 900 * p.length * :memories / :terms)
    ) AS score
    FROM wanted AS w CROSS JOIN search_postings AS p
    WHERE p.term = w.term AND w.leads = 1
    GROUP BY p.memory, w.position
),
followed AS (
    SELECT p.memory, w.position, max(w.cover) AS cover, max(
        w.weight * 2200 * p.frequency / (1000 * p.frequency + 300 + 900 * p.length * :memories / :terms)
    ) AS score
    FROM (SELECT DISTINCT memory FROM led) AS c CROSS JOIN wanted AS w CROSS JOIN search_postings AS p
    WHERE p.term = w.term AND p.memory = c.memory AND w.leads = 0
    GROUP BY p.memory, w.position
),
matched AS (
    SELECT memory, position, max(cover) AS cover, max(score) AS score
    FROM (
        SELECT memory, position, cover, score FROM led UNION ALL SELECT memory, position, cover, score FROM followed
    ) AS found
    GROUP BY memory, position
),
ranked AS (
    SELECT memory AS id, CAST(sum(score) AS BIGINT) AS score
    FROM matched
    GROUP BY memory
    HAVING sum(cover) >= :least_cover AND count(*) >= :least_words
)
SELECT r.id, r.score
FROM ranked AS r
JOIN memories AS m ON m.id = r.id AND m.state = 'active'
WHERE CAST(:after_score AS BIGINT) IS NULL OR r.score < :after_score
    OR (r.score = :after_score AND r.id < CAST(:after_memory AS BIGINT))
ORDER BY r.score DESC, r.id DESC
LIMIT :number

-- name: crossed_search
SELECT 'the search index lists memory ' || m.memory_id || ', which is not active' AS finding
FROM (SELECT DISTINCT memory FROM search_postings) AS p
JOIN memories AS m ON m.id = p.memory
WHERE m.state <> 'active'
UNION ALL
SELECT 'the search index counts another number of memories with a term of ' || s.submission_scope || ':' || s.scope_id
FROM search_scopes AS s
WHERE EXISTS (
    SELECT 1 FROM search_terms AS t
    WHERE t.scope = s.id AND t.memories <> (SELECT count(*) FROM search_postings AS p WHERE p.term = t.id)
)
UNION ALL
SELECT 'the search index does not count the active memories of ' || s.submission_scope || ':' || s.scope_id
FROM search_scopes AS s
WHERE s.memories <> (
        SELECT count(*) FROM memories AS m
        WHERE m.submission_scope = s.submission_scope AND m.scope_id = s.scope_id AND m.state = 'active'
    )
    OR s.length <> (
        SELECT coalesce(sum(p.frequency), 0) FROM search_terms AS t JOIN search_postings AS p ON p.term = t.id
        WHERE t.scope = s.id
    )
UNION ALL
SELECT 'the search index does not know ' || m.submission_scope || ':' || m.scope_id
FROM memories AS m
WHERE m.state = 'active' AND NOT EXISTS (
    SELECT 1 FROM search_scopes AS s WHERE s.submission_scope = m.submission_scope AND s.scope_id = m.scope_id
)
