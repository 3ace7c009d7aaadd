-- Counts of whole days, so that figures of weeks, and those since the beginning, read few rows. A day is added once no
-- submission can count in its hours any more; day 0 has the sums of all added days.

CREATE TABLE daily_counts (
    day INTEGER NOT NULL,
    producer INTEGER NOT NULL REFERENCES producers (id),
    -- As in tally; 'attempts' counts replays.
    name TEXT NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (day, producer, name)
) STRICT, WITHOUT ROWID;

-- Attempts of each channel of a producer, and the highest duplicate rate of an hour, in millionths.
CREATE TABLE daily_attempts (
    day INTEGER NOT NULL,
    producer INTEGER NOT NULL REFERENCES producers (id),
    channel TEXT NOT NULL,
    submissions INTEGER NOT NULL,
    duplicates INTEGER NOT NULL,
    replays INTEGER NOT NULL,
    worst INTEGER NOT NULL,
    PRIMARY KEY (day, producer, channel)
) STRICT, WITHOUT ROWID;

-- The proposal that has waited longest is found without reading all that were decided before it. An index of ids would
-- lead SQLite away from the smaller index of those that need a second person.
CREATE INDEX proposals_by_arrival ON proposals (received_at) WHERE state = 'pending';
