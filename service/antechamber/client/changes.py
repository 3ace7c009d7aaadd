"""Read the change feed page by page, through outages of the service."""

import itertools
import random
from collections.abc import Sequence
from typing import Final

from antechamber.client.delivery import DeliverySteps
from antechamber.client.retry import pause
from antechamber.client.wire import Call, Pause, ReadError, Response, decode_as
from antechamber.core.contract import ChangePage

CHANGES: Final = "/v1/changes"
HOLD_SECONDS: Final = 25
"""Seconds for which the service may hold a request until there is a change."""
MAX_ATTEMPT: Final = 3
"""The pauses between attempts grow to two seconds, because readers want changes soon after an outage."""


def list_scopes(scopes: Sequence[str]) -> list[str]:
    """Return scopes as a list; a single text is one scope, although Python also takes it for a sequence of letters."""
    return [scopes] if isinstance(scopes, str) else list(scopes)


def read_changes(scopes: Sequence[str], after: str | None, *, limit: int, hold: int) -> DeliverySteps[ChangePage]:
    """Read the next page; while the service cannot be reached, try again without end.

    Raises ReadError if the service refuses, for example because of the token, a scope or the cursor.
    """
    params: dict[str, str | int | list[str]] = {"scope": list_scopes(scopes), "limit": limit, "wait": hold}
    if after is not None:
        params["after"] = after
    for attempt in itertools.count():
        call = Call(method="GET", path=CHANGES, params=params, hold_seconds=hold)
        response = (yield call) or Response()
        try:
            page = decode_as(response, ChangePage)
        except ReadError as error:
            if not error.temporary:
                raise
        else:
            return page
        yield Pause(pause(min(attempt, MAX_ATTEMPT), response.retry_after, random.SystemRandom().random))
    raise AssertionError  # not reached: the loop has no end
