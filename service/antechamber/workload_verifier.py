"""Verifies signatures of workload tokens; the only module that uses PyJWT, which the extra `oidc` installs."""

from typing import Any, Final

import msgspec

from antechamber.core.access.workload import Key
from antechamber.core.conversion import parse_json
from antechamber.core.errors import UnavailableError

MIN_RSA_BITS: Final = 2_048
"""Shorter RSA keys verify nothing (RFC 7518, 3.3)."""


def verify(token: str, key: Key, algorithm: str) -> dict[str, Any] | None:
    """Return the claims of a token whose signature is that of a key with exactly this algorithm, else None.

    Claims and times are not checked here.

    Raises UnavailableError if the extra `oidc` is not installed.
    """
    try:
        import jwt  # noqa: PLC0415 -- an optional extra
    except ImportError:
        message = "this service cannot verify workload tokens: an operator has to install its extra oidc"
        raise UnavailableError(message) from None
    try:
        public = jwt.PyJWK(key, algorithm)
        if key["kty"] == "RSA" and public.key.key_size < MIN_RSA_BITS:
            return None
        # The claims are checked by `core.access.workload`, with the clock of the service.
        payload = jwt.PyJWS().decode(token, public, [algorithm])
        return parse_json(payload, dict[str, Any])
    except (jwt.PyJWTError, msgspec.DecodeError, RecursionError, ValueError, TypeError):
        return None
