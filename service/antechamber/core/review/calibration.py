"""Calibration items in a file: one JSON object per line, an event with its known verdict and an explanation."""

from typing import Final

import msgspec
from msgspec import Struct

from antechamber.core.admission.canonical import decode
from antechamber.core.admission.submission import Submission, read_draft, read_event
from antechamber.core.errors import refuse
from antechamber.core.outgoing import hash_event
from antechamber.core.review.blind import Verdict

_VERDICTS: Final[dict[str, Verdict]] = {"approve": "approve", "reject": "reject"}
MAX_EXPLANATION: Final = 2000
"""Maximum number of characters of an explanation."""


class CalibrationLine(Struct, frozen=True, kw_only=True):
    """One item of a file."""

    submission: Submission
    verdict: Verdict
    explanation: str


def read_calibration(raw: bytes) -> CalibrationLine:
    """Parse one item: the members of an event without key, `verdict` (`approve` or `reject`) and `explanation`.

    Raises RequestRefusedError, whose text states what to write instead.
    """
    body = decode(raw)
    if not isinstance(body, dict):
        raise refuse("malformed", "write a JSON object on each line")
    verdict, explanation = _VERDICTS.get(str(body.pop("verdict", None))), body.pop("explanation", "")
    if verdict is None:
        raise refuse("malformed", 'write "approve" or "reject"', "/verdict")
    if not isinstance(explanation, str) or len(explanation) > MAX_EXPLANATION:
        raise refuse("malformed", f"write a text of at most {MAX_EXPLANATION} characters", "/explanation")
    if "idempotency_key" in body:
        raise refuse("malformed", "leave it out; no producer submits this item", "/idempotency_key")
    if body.get("visibility") == "private":
        raise refuse("private-declared", "curators do not see private events", "/visibility")
    body.setdefault("source_event_hash", hash_event(body))
    submission = read_event(read_draft(msgspec.json.encode({"idempotency_key": "calibration", **body})))
    return CalibrationLine(submission=submission, verdict=verdict, explanation=explanation.strip())
