-- What the servers say of their positions and processes.

-- name: committed_position
-- Why: only here there are standbys. What is visible was on disk before, so the position covers each such commit.
SELECT CAST(pg_current_wal_flush_lsn() AS TEXT) AS position

-- name: has_replayed
-- Why: as committed_position.
SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= CAST(:position AS PG_LSN) AS ready

-- name: replay_lag
-- Why: as committed_position.
SELECT CAST(greatest(0, CAST(:position AS PG_LSN) - pg_last_wal_replay_lsn()) AS BIGINT) AS bytes

-- name: database_identity
-- Why: as committed_position; a standby has the identifier of its primary.
SELECT CAST(system_identifier AS TEXT) || '/' || current_database() AS identity FROM pg_control_system()

-- name: serving_process
-- Why: only here a pooler may be between service and server.
SELECT pg_backend_pid() AS process
