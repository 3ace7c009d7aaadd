"""When tokens and sessions were last used: noted in memory, and written once a minute in an ordinary commit."""

import threading
from functools import partial

from antechamber.core.errors import AntechamberError, ClosedError
from antechamber.core.ports.store import Rows, Store


class LastUse:
    """Notes the last use of tokens and sessions until `flush` writes it; thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._gate = threading.Lock()
        self._tokens: dict[int, int] = {}
        self._sessions: dict[str, int] = {}

    def note_token(self, token: int, now: int) -> None:
        """Note a token's use."""
        with self._gate:
            self._tokens[token] = now

    def note_session(self, digest: str, now: int) -> None:
        """Note a session's use."""
        with self._gate:
            self._sessions[digest] = now

    def of_session(self, digest: str) -> int:
        """Return when a session was last used, in microseconds since 1970 UTC; 0 if nothing is noted in memory."""
        with self._gate:
            return self._sessions.get(digest, 0)

    def flush(self) -> None:
        """Write what is noted. After an error it stays noted; the refusal of a log in doubt is no error here.

        Raises BusyError or UnavailableError.
        """
        with self._gate:
            tokens, self._tokens = self._tokens, {}
            sessions, self._sessions = self._sessions, {}
        if not (tokens or sessions):
            return
        try:
            self._store.write(partial(_touch, tokens, sessions)).result()
        except AntechamberError as error:
            with self._gate:
                # Uses noted meanwhile are later ones.
                self._tokens, self._sessions = tokens | self._tokens, sessions | self._sessions
            if not isinstance(error, ClosedError):
                raise


def _touch(tokens: dict[int, int], sessions: dict[str, int], tx: Rows) -> None:
    tx.access.touch_tokens(tokens)
    tx.access.touch_sessions(sessions)
