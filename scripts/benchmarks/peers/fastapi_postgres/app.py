"""The peer FastAPI and PostgreSQL with a unique key, as a good engineer would write it in an afternoon.

One transaction per request: insert the idempotency key, insert the event, commit. A known key is answered with its
stored receipt. pydantic validates the body, and the hash is recomputed, as the contract requires. It uses asyncpg,
which was faster here than psycopg's asynchronous pool, and sends the receipt as the stored bytes.
"""

import contextlib
import json
import os
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import asyncpg
from events import Event, digest_of, receipt_of
from fastapi import FastAPI, Response

CONNECTIONS = int(os.environ.get("PEER_CONNECTIONS", "10"))
SCHEMA = """
CREATE TABLE IF NOT EXISTS idempotency_keys (
    producer text NOT NULL,
    key text NOT NULL,
    hash text NOT NULL,
    receipt text NOT NULL,
    PRIMARY KEY (producer, key)
);
CREATE TABLE IF NOT EXISTS events (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    submission_id uuid NOT NULL UNIQUE,
    producer text NOT NULL,
    scope text NOT NULL,
    scope_id text NOT NULL,
    hash text NOT NULL,
    payload jsonb NOT NULL,
    source_span jsonb NOT NULL,
    observed_at timestamptz,
    received_at timestamptz NOT NULL
);
"""


@contextlib.asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open the pool and create the tables."""
    async with asyncpg.create_pool(os.environ["PEER_DATABASE_URL"], min_size=CONNECTIONS, max_size=CONNECTIONS) as pool:
        async with pool.acquire() as connection, connection.transaction():
            # Several processes start at once, so an advisory lock serializes them.
            await connection.execute("SELECT pg_advisory_xact_lock(1)")
            await connection.execute(SCHEMA)
        app.state.pool = pool
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/v1/submissions")
async def submit(event: Event) -> Response:
    """Store one event under its key exactly once."""
    digest = digest_of(event)
    if digest != event.source_event_hash:
        return Response(b'{"detail":"hash-mismatch"}', 400, media_type="application/json")
    submission_id, now = uuid.uuid4(), datetime.now(UTC)
    receipt = json.dumps(receipt_of(event.producer_identity, event.idempotency_key, digest, submission_id, now))
    async with app.state.pool.acquire() as connection, connection.transaction():
        fresh = await connection.fetchval(
            "INSERT INTO idempotency_keys (producer, key, hash, receipt) VALUES ($1, $2, $3, $4) "
            "ON CONFLICT DO NOTHING RETURNING true",
            event.producer_identity,
            event.idempotency_key,
            digest,
            receipt,
        )
        if not fresh:
            return await replay(connection, event, digest)
        await connection.execute(
            "INSERT INTO events (submission_id, producer, scope, scope_id, hash, payload, source_span, observed_at, "
            "received_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            submission_id,
            event.producer_identity,
            event.submission_scope,
            event.scope_id,
            digest,
            event.payload.model_dump_json(exclude_unset=True),
            event.source_span.model_dump_json(exclude_unset=True),
            event.observed_at,
            now,
        )
    return Response(receipt, 201, media_type="application/json")


async def replay(connection: asyncpg.Connection, event: Event, digest: str) -> Response:
    """Answer a known key."""
    kept = await connection.fetchrow(
        "SELECT hash, receipt FROM idempotency_keys WHERE producer = $1 AND key = $2",
        event.producer_identity,
        event.idempotency_key,
    )
    if kept["hash"] != digest:
        return Response(b'{"detail":"key-reused"}', 422, media_type="application/json")
    return Response(kept["receipt"], 201, media_type="application/json")
