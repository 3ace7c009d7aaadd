-- Endpoints that get events. Their secrets are not here: they follow from the secret of the data folder. What they get
-- follows from the log, so that admission and decisions write nothing for them.
CREATE TABLE webhooks (
    id INTEGER PRIMARY KEY,
    webhook_id TEXT NOT NULL UNIQUE,
    url TEXT NOT NULL,
    -- JSON: the types of events that it gets.
    events TEXT NOT NULL,
    allow_private INTEGER NOT NULL CHECK (allow_private IN (0, 1)),
    state TEXT NOT NULL CHECK (state IN ('active', 'disabled')),
    -- How far it has got: the next leaf of the log, and the last alarm.
    next_sequence INTEGER NOT NULL,
    last_alarm INTEGER NOT NULL,
    version INTEGER NOT NULL,
    -- How the last attempt ended.
    attempts INTEGER NOT NULL,
    next_at INTEGER NOT NULL,
    failing_since INTEGER,
    last_error TEXT,
    delivered INTEGER NOT NULL,
    delivered_at INTEGER,
    -- The process that delivers to it.
    holder TEXT,
    held_until INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    removed_at INTEGER
) STRICT;

CREATE UNIQUE INDEX webhooks_by_url ON webhooks (url) WHERE removed_at IS NULL;

CREATE TRIGGER webhooks_go_where_they_went
BEFORE UPDATE OF id, webhook_id, url, events, allow_private, created_at ON webhooks
BEGIN SELECT RAISE(ABORT, 'a webhook keeps its address and its events'); END;
CREATE TRIGGER removed_webhooks_stay_removed
BEFORE UPDATE ON webhooks WHEN OLD.removed_at IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a removed webhook stays removed'); END;
CREATE TRIGGER webhooks_stay BEFORE DELETE ON webhooks
BEGIN SELECT RAISE(ABORT, 'what was recorded of webhooks stays'); END;

CREATE TABLE webhook_replays (
    id INTEGER PRIMARY KEY,
    replay_id TEXT NOT NULL UNIQUE,
    webhook INTEGER NOT NULL REFERENCES webhooks (id),
    sequence INTEGER NOT NULL,
    replayed_at INTEGER NOT NULL
) STRICT;

CREATE TRIGGER webhook_replays_are_final BEFORE UPDATE ON webhook_replays
BEGIN SELECT RAISE(ABORT, 'what was recorded of webhooks stays'); END;
CREATE TRIGGER webhook_replays_stay BEFORE DELETE ON webhook_replays
BEGIN SELECT RAISE(ABORT, 'what was recorded of webhooks stays'); END;

-- Alarms are not in the log, because one may be that the log cannot be written; each has the log's size at that time.
CREATE TABLE raised_alarms (
    id INTEGER PRIMARY KEY,
    source TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    raised_at INTEGER NOT NULL
) STRICT;
