"""Workload tokens: short-lived JSON Web Tokens (RFC 7519) with which a platform vouches for a job, checked by RFC 8725.

The platform is the issuer. The policy lists its keys, the audience that its tokens have to name, and which subject is
which producer. Signatures are verified elsewhere; the rules here are pure.
"""

import re
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct, field

from antechamber.core.conversion import convert, parse_json

Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Signatures of key pairs alone: with a shared secret, or without a signature, everyone could issue tokens."""
Name = Annotated[str, Meta(min_length=1, max_length=512, pattern=r"^[^\x00-\x20\x7f]+$")]
Key = dict[str, Any]
"""A public key as JSON (RFC 7517)."""

MAX_TOKEN: Final = 8_192
"""Characters of a workload token."""
MAX_KEYS: Final = 100
"""How many keys of an issuer count."""
LEEWAY_SECONDS: Final = 60
"""Seconds that the clock of an issuer may differ."""
_FORM: Final = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_SECOND: Final = 1_000_000
_LATEST: Final = 1 << 40
"""No time in seconds is greater."""
_KINDS: Final = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
_SECRET_MEMBERS: Final = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})


class Issuer(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A platform that issues workload tokens; either `keys_url` or `keys` is given."""

    issuer: Name
    """The claim `iss` of its tokens."""
    audience: Name
    """What the claim `aud` of its tokens has to name."""
    keys_url: str | None = None
    """The https address of its keys, as JWK Set."""
    keys: Annotated[list[dict[str, str | list[str]]], Meta(max_length=MAX_KEYS)] = []
    """Its keys, each a JWK with `kid`."""
    algorithms: Annotated[list[Algorithm], Meta(min_length=1)] = field(default_factory=lambda: ["RS256", "ES256"])
    max_minutes: Annotated[int, Meta(ge=1, le=1_440)] = 60
    """The longest time from the issue of a token to its end, in minutes."""
    allow_private: bool = False
    """Whether `keys_url` may be http or lead into a private network."""


class Subject(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Whom an issuer vouches for."""

    issuer: Name
    subject: Name
    """The claim `sub`, compared character by character."""


class Unverified(Struct, frozen=True):
    """What a token says of itself: used to find the key, and nothing else."""

    issuer: str
    algorithm: str
    key_id: str


class _Head(Struct, frozen=True):
    alg: str
    kid: str


class _Body(Struct, frozen=True):
    iss: str


class _Claims(Struct, frozen=True):
    iss: str
    sub: str
    aud: str | list[str]
    exp: int | float
    iat: int | float
    nbf: int | float | None = None


class _KeySet(Struct, frozen=True):
    keys: list[Any]


class Vouched(Struct, frozen=True):
    """The result of the check of claims; `refusal` says what is wrong, and is empty if nothing is."""

    refusal: str
    subject: str = ""
    expires_at: int = 0
    """Microseconds since 1970 UTC."""


def is_workload_token(secret: str) -> bool:
    """Return whether a text has the form of a JSON Web Token, which no other token of this service has."""
    return len(secret) <= MAX_TOKEN and _FORM.fullmatch(secret) is not None


def is_compact_token(text: str) -> bool:
    """Return whether a text of any length has the form of a signed JSON Web Token."""
    return _FORM.fullmatch(text) is not None


def read_unverified(token: str) -> Unverified | None:
    """Return what a token says of issuer, algorithm and key; None if it does not say all of them."""
    head, body, _ = token.split(".")
    try:
        header = parse_json(_decode(head), _Head)
        return Unverified(parse_json(_decode(body), _Body).iss, header.alg, header.kid)
    except (msgspec.DecodeError, ValueError):
        return None


def _decode(part: str) -> bytes:
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))


def find_key(keys: list[Key], key_id: str, algorithm: str) -> Key | None:
    """Return the key of this id that fits the algorithm, or None: one key is never used for two algorithms' kinds."""
    for key in keys:
        if key.get("kid") == key_id:
            fits = key.get("kty") == _KINDS[algorithm[:2]] and key.get("alg", algorithm) == algorithm
            return key if fits else None
    return None


def key_problem(key: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a key of the policy, or None."""
    if key.get("kty") not in _KINDS.values():
        return "kty must be RSA, EC or OKP"
    if not isinstance(key.get("kid"), str) or not key["kid"]:
        return "kid is missing"
    if secret := sorted(_SECRET_MEMBERS & key.keys()):
        return f"{secret[0]} belongs to a private key, which only the issuer may have: replace the key, it is known now"
    return None


def read_keys(data: bytes) -> list[Key]:
    """Return the keys of a JWK Set that can verify tokens; others in it are left out.

    Raises ValueError if the data is no JWK Set.
    """
    try:
        found = parse_json(data, _KeySet).keys
    except (msgspec.DecodeError, RecursionError):
        message = "the answer is no JWK Set"
        raise ValueError(message) from None
    keys = [key for key in found if isinstance(key, dict) and key.get("use", "sig") == "sig"]
    return [key for key in keys if key_problem(key) is None][:MAX_KEYS]


def check_claims(claims: Mapping[str, Any], issuer: Issuer, now: int) -> Vouched:
    """Check the claims of a verified token at a time, in microseconds since 1970 UTC."""
    try:
        said = convert(claims, _Claims)
    except msgspec.ValidationError:
        return Vouched("a claim is missing or has another type")
    times = (said.exp, said.iat, said.iat if said.nbf is None else said.nbf)
    if not all(0 <= time <= _LATEST for time in times):
        return Vouched("a time is out of range")
    seconds, begins = now / _SECOND, times[2]
    checks = (
        (said.iss != issuer.issuer, "another issuer"),
        (issuer.audience not in ([said.aud] if isinstance(said.aud, str) else said.aud), "another audience"),
        (seconds >= said.exp + LEEWAY_SECONDS, "expired"),
        (begins > seconds + LEEWAY_SECONDS or said.iat > seconds + LEEWAY_SECONDS, "not valid yet"),
        (said.exp - said.iat > issuer.max_minutes * 60, "valid for too long"),
    )
    refusal = next((text for wrong, text in checks if wrong), "")
    return Vouched(refusal, said.sub, int(said.exp * _SECOND))
