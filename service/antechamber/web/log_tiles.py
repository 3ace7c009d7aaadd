"""Routes of the log as tiles (c2sp.org/tlog-tiles), which mirrors follow; public only if the policy says so."""

from typing import Any, Final

from litestar import Response, get
from litestar.connection import ASGIConnection
from litestar.di import NamedDependency
from litestar.handlers import BaseRouteHandler
from litestar.params import FromPath

from antechamber.core.access.callers import Bearer
from antechamber.core.errors import refuse
from antechamber.flows.log_tiles import LogTiles
from antechamber.web.auth import needs_auditor

_FOR_EVER: Final = "max-age=31536000, immutable"
_SHORT: Final = "max-age=5"
"""The checkpoint changes with each signature, and a partial tile is of no use once it has grown."""


async def needs_log_reader(connection: ASGIConnection[Any, Any, Any, Any], handler: BaseRouteHandler) -> None:
    """Guard the tiles: without a public log they need an auditor of all scopes, because they hold the whole log.

    Raises RequestRefusedError.
    """
    if connection.app.state.log_tiles.are_public():
        return
    await needs_auditor(connection, handler)
    caller = connection.scope["user"]
    if isinstance(caller, Bearer) and caller.read:
        raise refuse("scope-not-granted", "the whole log is for auditors of all scopes; export your records instead")


def _headers(log_tiles: LogTiles, lifetime: str) -> dict[str, str]:
    """Return the headers for caches; a log that is not public must not be stored by a cache that others share."""
    return {"cache-control": f"{'public' if log_tiles.are_public() else 'private'}, {lifetime}"}


@get("/log/checkpoint", guards=[needs_log_reader], sync_to_thread=True)
def log_checkpoint(log_tiles: NamedDependency[LogTiles]) -> Response[str]:
    """Return the last checkpoint."""
    return Response(log_tiles.checkpoint(), media_type="text/plain", headers=_headers(log_tiles, _SHORT))


@get("/log/tile/{location:path}", guards=[needs_log_reader], sync_to_thread=True)
def log_tile(location: FromPath[str], log_tiles: NamedDependency[LogTiles]) -> Response[bytes]:
    """Return a tile of the Merkle tree, or a bundle of entries."""
    place, content = log_tiles.read(location.removeprefix("/"))
    headers = _headers(log_tiles, _FOR_EVER if place.is_full else _SHORT)
    return Response(content, media_type="application/octet-stream", headers=headers)


ROUTES: Final = (log_checkpoint, log_tile)
