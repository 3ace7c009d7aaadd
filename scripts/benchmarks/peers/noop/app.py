"""The framework's baseline: a typed Litestar POST that stores nothing, on the server and event loop of the service.

It decodes the same body into structs of the same shape and answers 201 with a small JSON object.
"""

import asyncio
import signal
import sys
from typing import Any, Literal

import uvloop
from granian.constants import HTTPModes, Interfaces
from granian.log import LogLevels
from granian.server.embed import Server
from litestar import Litestar, post
from msgspec import Struct


class Payload(Struct):
    """What happened."""

    kind: str
    content: str
    tags: list[str] = []
    attributes: dict[str, Any] = {}


class SourceSpan(Struct):
    """Where it was seen."""

    uri: str
    start: int = 1
    end: int = 1
    revision: str = ""
    heading: str = ""


class Event(Struct):
    """One submission."""

    idempotency_key: str
    producer_identity: str
    submission_scope: Literal["session", "project", "agent_team", "agent_repo", "organization", "cross_organization"]
    scope_id: str
    source_event_hash: str
    payload: Payload
    source_span: SourceSpan
    observed_at: str = ""


class Receipt(Struct):
    """The answer."""

    status: int
    idempotency_key: str


@post("/v1/submissions")
async def submit(data: Event) -> Receipt:
    """Answer without doing anything."""
    return Receipt(201, data.idempotency_key)


async def main(port: int) -> None:
    """Serve until SIGTERM."""
    application = Litestar([submit], openapi_config=None)
    server = Server(
        application,
        address="127.0.0.1",
        port=port,
        interface=Interfaces.ASGI,
        http=HTTPModes.http1,
        websockets=False,
        log_level=LogLevels.critical,
    )
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, server.stop)
    await server.serve()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main(int(sys.argv[1])))
