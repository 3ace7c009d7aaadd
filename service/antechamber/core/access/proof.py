"""The proof that a sign-in link, a session or an identity was begun by this service."""

from typing import Literal

from blake3 import blake3

from antechamber.core.access.sessions import BegunAccess

AccessKind = Literal["link", "session", "identity"]


def prove(secret: bytes, kind: AccessKind, digest: str, user: int, at: int) -> str:
    """Return the proof: BLAKE3 of the values, keyed with the folder's 32-byte secret.

    `at` is when a session or identity began or a link expires, in microseconds since 1970 UTC.
    """
    return blake3(f"{kind} {digest} {user} {at}".encode(), key=secret).hexdigest()


def is_proven(secret: bytes, kind: AccessKind, begun: BegunAccess) -> bool:
    """Return whether a stored link, session or identity has the proof of this folder's secret."""
    return begun.proof == prove(secret, kind, begun.digest, begun.user, begun.at)
