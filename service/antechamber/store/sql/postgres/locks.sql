-- All locks that transactions of several PostgreSQL processes take; on SQLite one writer makes them needless, and the
-- shared statements of the same names lock nothing. Each lock is held until its transaction ends. Advisory locks:
--   1095648082, producer  its waiting quarantined events     1095648085, 0  sessions
--   1095648083, 0         the end of the log, taken last     1095648086, 0  failed sign-ins
--   1095648084, 0         the recorded policy               1095648087, 0  numbers of raised alarms
-- Rows of proposals, quarantined events and memories are locked with FOR NO KEY UPDATE.

-- name: append_leaf
-- Why: several writers share one log, so the function takes the log's lock, reads the end and appends in one round trip;
-- SQLite has only one writer.
SELECT CAST(append_leaves(CAST(:items AS JSON)) AS TEXT) AS held

-- name: hold_policy
-- Why: processes that load the same new policy take turns, so that it is recorded once; SQLite has only one writer.
SELECT CAST(pg_advisory_xact_lock(1095648084, 0) AS TEXT) AS held

-- name: hold_producer
-- Why: writers take turns to count the waiting quarantined events and apply the cap; SQLite has only one.
SELECT CAST(pg_advisory_xact_lock(1095648082, CAST(:producer AS INTEGER)) AS TEXT) AS held

-- name: share_sessions
-- Why: an action and the end of its session must not run concurrently; SQLite has only one writer.
SELECT CAST(pg_advisory_xact_lock_shared(1095648085, 0) AS TEXT) AS held

-- name: hold_sessions
-- Why: as share_sessions, for who ends sessions. If group commits of two processes each contain a decision and then a
-- sign-out, they deadlock: PostgreSQL rolls one back after deadlock_timeout (one second), and it runs again.
SELECT CAST(pg_advisory_xact_lock(1095648085, 0) AS TEXT) AS held

-- name: hold_failures
-- Why: failed sign-ins at several processes at once must all be counted; SQLite has only one writer.
SELECT CAST(pg_advisory_xact_lock(1095648086, 0) AS TEXT) AS held

-- name: hold_alarms
-- Why: processes that raise alarms at once take turns to number them, so that no reader skips one; SQLite has only one
-- writer.
SELECT CAST(pg_advisory_xact_lock(1095648087, 0) AS TEXT) AS held

-- name: hold_proposal
-- Why: two concurrent first approvals must see each other; SQLite has only one writer.
SELECT id FROM proposals WHERE proposal_id = :proposal_id FOR NO KEY UPDATE

-- name: hold_quarantine
-- Why: two decisions on the same quarantined event must see each other; SQLite has only one writer.
SELECT id FROM quarantine WHERE quarantine_id = :quarantine_id FOR NO KEY UPDATE

-- name: hold_memory
-- Why: two decisions that end the same memory must see each other; SQLite has only one writer.
SELECT id FROM memories WHERE memory_id = :memory_id FOR NO KEY UPDATE

-- name: give_up_promotion
-- Why: a role that decides may not write submissions and proposals; SQLite has no roles.
SELECT set_config('role', 'antechamber_admission', true)
