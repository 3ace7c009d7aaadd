"""Receipts of stored submissions: the bytes that were sent first."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from antechamber.core.admission.receipt import Echo, form_receipt
from antechamber.core.outcomes import ACCEPTED


def receipt_of(row: Mapping[str, Any]) -> str:
    """Return the stored receipt; without one, the submission was accepted for review, and its columns say everything.

    `row` has the columns of the view `answered_submissions`.
    """
    if row["receipt"] is not None:
        return str(row["receipt"])
    echo = Echo(**{name: row[name] for name in Echo.__struct_fields__})
    formed = form_receipt(ACCEPTED, [], echo, row["policy_digest"], row["received_at"], row["submission_id"])
    return msgspec.json.encode(replace(formed, proposal_id=row["proposal_id"])).decode()
