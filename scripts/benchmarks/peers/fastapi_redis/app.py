"""The peer FastAPI and Redis, the common recipe for idempotency keys, with durability.

Look the key up, claim it (SET NX, with an expiry in case the process dies), then store the event and the receipt in one
MULTI. Redis runs with `appendfsync always`, so a reply means that the data is on disk.
"""

import contextlib
import json
import os
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime

from events import Event, digest_of, receipt_of
from fastapi import FastAPI, Response
from redis.asyncio import BlockingConnectionPool, Redis

CLAIM_SECONDS = 60


@contextlib.asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Open the pool."""
    pool = BlockingConnectionPool.from_url(os.environ["PEER_REDIS_URL"], max_connections=64, timeout=20)
    app.state.redis = Redis(connection_pool=pool)
    yield
    await app.state.redis.aclose()


app = FastAPI(lifespan=lifespan)


@app.post("/v1/submissions")
async def submit(event: Event) -> Response:
    """Store one event under its key exactly once."""
    redis: Redis = app.state.redis
    digest = digest_of(event)
    if digest != event.source_event_hash:
        return Response(b'{"detail":"hash-mismatch"}', 400, media_type="application/json")
    name = f"key:{event.producer_identity}:{event.idempotency_key}"
    if kept := await redis.get(name):
        return replay(kept, digest)
    if not await redis.set(name, json.dumps({"in_flight": digest}), nx=True, ex=CLAIM_SECONDS):
        return Response(b'{"detail":"busy"}', 409, media_type="application/json")
    receipt = json.dumps(
        receipt_of(event.producer_identity, event.idempotency_key, digest, uuid.uuid4(), datetime.now(UTC))
    )
    async with redis.pipeline(transaction=True) as together:
        together.rpush("events", event.model_dump_json(exclude_unset=True))
        together.set(name, receipt)
        await together.execute()
    return Response(receipt, 201, media_type="application/json")


def replay(kept: bytes, digest: str) -> Response:
    """Answer a known key."""
    known = json.loads(kept)
    if "in_flight" in known:
        return Response(b'{"detail":"busy"}', 409, media_type="application/json")
    if known["source_event_hash"] != digest:
        return Response(b'{"detail":"key-reused"}', 422, media_type="application/json")
    return Response(kept, 201, media_type="application/json")
