"""NDJSON batches: a body split into lines, and answers that carry the number of their line."""

from antechamber.core.contract import MAX_BATCH, MAX_LINES
from antechamber.core.errors import refuse


def number_line(number: int, body: bytes) -> bytes:
    """Add the line's number to an answer, which is a non-empty JSON object."""
    return b'%b,"line":%d}\n' % (body[:-1], number)


def split_batch(raw: bytes) -> list[tuple[int, bytes]]:
    """Split NDJSON into its non-empty lines, numbered from 1.

    Raises RequestRefusedError (`body-too-large`) if it exceeds 4 MiB or 1,000 lines.
    """
    if len(raw) > MAX_BATCH:
        raise refuse("body-too-large", f"a batch may have {MAX_BATCH} bytes")
    lines = [(number, line) for number, line in enumerate(raw.split(b"\n"), 1) if line.strip()]
    if len(lines) > MAX_LINES:
        raise refuse("body-too-large", f"a batch may have {MAX_LINES} lines")
    return lines
