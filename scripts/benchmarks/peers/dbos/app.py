"""The peer DBOS, whose workflow ids are idempotency keys; one durable workflow per event.

The cheapest form: the workflow takes the event, which DBOS stores as its input, and returns the receipt, which DBOS
stores as its output. Nothing else is written.
"""

import contextlib
import os
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

from dbos import DBOS, SetWorkflowID
from events import Event, digest_of, receipt_of
from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse

DBOS(config={"name": "peer", "system_database_url": os.environ["PEER_DATABASE_URL"], "log_level": "ERROR"})


@DBOS.workflow()
async def admit(event: dict[str, Any], digest: str) -> dict[str, Any]:
    """Return the receipt of an event."""
    return receipt_of(event["producer_identity"], event["idempotency_key"], digest, uuid.uuid4(), datetime.now(UTC))


@contextlib.asynccontextmanager
async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
    """Start and stop DBOS."""
    DBOS.launch()
    yield
    DBOS.destroy()


app = FastAPI(lifespan=lifespan)


@app.post("/v1/submissions")
async def submit(event: Event) -> Response:
    """Run the workflow of one event exactly once."""
    digest = digest_of(event)
    if digest != event.source_event_hash:
        return Response(b'{"detail":"hash-mismatch"}', 400, media_type="application/json")
    with SetWorkflowID(f"{event.producer_identity}:{event.idempotency_key}"):
        handle = await DBOS.start_workflow_async(admit, event.model_dump(mode="json", exclude_unset=True), digest)
    receipt = await handle.get_result()
    if receipt["source_event_hash"] != digest:
        return Response(b'{"detail":"key-reused"}', 422, media_type="application/json")
    return JSONResponse(receipt, 201)
