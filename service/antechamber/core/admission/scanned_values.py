"""What a scan of a submission sees."""

from typing import Any, Final

from antechamber.core.admission.submission import Submission
from antechamber.core.privacy import is_uuid

KEY_POINTER: Final = "/idempotency_key"
"""Where a finding makes the key invalid, because a key is stored and shown."""


def scanned_values(submission: Submission) -> dict[str, Any]:
    """Return everything of a submission that is scanned, by JSON pointer; kind and tags as they were sent."""
    key = submission.idempotency_key
    values = {
        KEY_POINTER: key,
        "/scope_id": submission.scope_id,
        "/payload": {**submission.payload, **submission.as_sent},
        "/source_span": submission.source_span,
        "/supersedes": submission.supersedes,
        "/derived_from": submission.derived_from,
    }
    if key.islower() and is_uuid(key):
        # The usual key: no rule finds anything in it, and it is never joined with what follows.
        del values[KEY_POINTER]
    return values
