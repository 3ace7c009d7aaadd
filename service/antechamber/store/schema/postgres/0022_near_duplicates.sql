-- Waiting near duplicates are found among all folds of a scope by the beginning or the end of their texts.

CREATE INDEX folds_by_beginning ON antechamber.folds (submission_scope, scope_id, (substr(content, 1, 16)), id) WHERE pending > 0;
CREATE INDEX folds_by_end ON antechamber.folds (
    submission_scope, scope_id,
    (substr(content, CASE WHEN length(content) > 16 THEN length(content) - 15 ELSE 1 END)), id
) WHERE pending > 0;
