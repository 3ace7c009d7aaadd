-- Counts of whole days, so that figures of weeks, and those since the beginning, read few rows. A day is added once no
-- submission can count in its hours any more; day 0 has the sums of all added days.

CREATE TABLE antechamber.daily_counts (
    day BIGINT NOT NULL,
    producer BIGINT NOT NULL REFERENCES antechamber.producers (id),
    -- As in tally; 'attempts' counts replays.
    name TEXT COLLATE "C" NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (day, producer, name)
);

-- Attempts of each channel of a producer, and the highest duplicate rate of an hour, in millionths.
CREATE TABLE antechamber.daily_attempts (
    day BIGINT NOT NULL,
    producer BIGINT NOT NULL REFERENCES antechamber.producers (id),
    channel TEXT COLLATE "C" NOT NULL,
    submissions BIGINT NOT NULL,
    duplicates BIGINT NOT NULL,
    replays BIGINT NOT NULL,
    worst BIGINT NOT NULL,
    PRIMARY KEY (day, producer, channel)
);

GRANT INSERT ON antechamber.daily_counts, antechamber.daily_attempts TO antechamber_admission;
GRANT UPDATE (number) ON antechamber.daily_counts TO antechamber_admission;
GRANT DELETE ON antechamber.daily_counts, antechamber.daily_attempts TO antechamber_promotion;

-- The proposal that has waited longest is found without reading all that were decided before it. An index of ids would
-- lead SQLite away from the smaller index of those that need a second person.
CREATE INDEX proposals_by_arrival ON antechamber.proposals (received_at) WHERE state = 'pending';
