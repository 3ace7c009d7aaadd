"""The connection of a request, as the HTTP server describes it to the application."""

from typing import Final, Protocol

from litestar.types import Scope

STATE_NAME: Final = "connection"
"""Name in `scope["state"]` under which the server puts the connection."""


class ClientConnection(Protocol):
    """A connection as the application sees it."""

    known: bool
    """Whether one of its requests had a valid token or session."""

    broken_off: bool
    """Whether the client ended its sending side before the end of the body."""

    def know(self) -> None:
        """Record that a request had a valid token or session, which raises the limits of the connection."""

    def end_after_response(self) -> None:
        """Close the connection after the current response: the rest of the request's body is not read."""

    def end_with_client(self) -> None:
        """Close the connection when the client ends its sending side during this request, because the answer may wait.

        Nothing distinguishes a client that is gone from one that only reads on.
        """


class _UnlimitedConnection:
    """The connection of a request that did not come through the HTTP server, as in tests."""

    known = True
    broken_off = False

    def know(self) -> None:
        pass

    def end_after_response(self) -> None:
        pass

    def end_with_client(self) -> None:
        pass


_UNLIMITED: Final = _UnlimitedConnection()


def connection_of(scope: Scope) -> ClientConnection:
    """Return the connection of a request."""
    connection: ClientConnection = scope.get("state", {}).get(STATE_NAME, _UNLIMITED)
    return connection
