"""Rows of sealed events: private events that are kept encrypted until a curator redacts them."""

from msgspec import Struct


class SealedText(Struct, frozen=True, kw_only=True):
    """An encrypted event, and the wrapped key that decrypts it."""

    ciphertext: bytes
    wrapped_key: bytes
    key_check: str
    """Identifies the key that wraps, without revealing it."""


class RevealRow(Struct, frozen=True, kw_only=True):
    """One span of a sealed event that a curator looked at."""

    reveal_id: str
    pointer: str
    rule_ids: str
    """Ids of the rules that found the span, separated by spaces."""
    span: int
    """The span's number in the event, from 1."""
    reason_text: str
    curator: str
    person: str
    revealed_at: int
    """Microseconds since 1970 UTC."""


class RevealWrite(Struct, frozen=True, kw_only=True):
    """Everything that revealing one span writes."""

    reveal_id: str
    pointer: str
    rule_ids: str
    span: int
    reason_text: str
    decision_key: str
    policy_digest: str
    revealed_at: int
    salt: bytes
    """Salt of the log's commitment to the reason and the person."""
