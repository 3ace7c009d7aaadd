-- All other writers wait until a transaction that appends to the log has committed. This function does before it takes
-- the log's lock what can be done before, and its statements are planned once for each connection. A function of the
-- language SQL, or one statement, would see the end of the log as of its start, before it has waited for the lock.
-- Its variables have no type of a table, because a dump makes functions before tables.
--
-- `items` is an array of leaves whose id counts from 0. The text of a leaf keeps its exact bytes.
CREATE FUNCTION antechamber.append_leaves(items JSON) RETURNS VOID LANGUAGE plpgsql AS $$
DECLARE
    leaves TEXT[];
    submissions BIGINT[];
    subjects TEXT[];
    salts BYTEA[];
BEGIN
    SELECT array_agg(CAST(item.leaf AS TEXT) ORDER BY item.id), array_agg(item.submission ORDER BY item.id),
        array_agg(item.subject ORDER BY item.id), array_agg(item.salt ORDER BY item.id)
    INTO leaves, submissions, subjects, salts
    FROM json_to_recordset(items) AS item (id BIGINT, leaf JSON, submission BIGINT, subject TEXT, salt BYTEA);
    PERFORM pg_advisory_xact_lock(1095648083, 0);
    INSERT INTO antechamber.log_leaves (id, leaf, submission, subject, salt)
    SELECT (SELECT coalesce(max(l.id) + 1, 0) FROM antechamber.log_leaves AS l) + item.id - 1,
        item.leaf, item.submission, item.subject, item.salt
    FROM unnest(leaves, submissions, subjects, salts)
        WITH ORDINALITY AS item (leaf, submission, subject, salt, id)
    ORDER BY item.id;
END
$$;
