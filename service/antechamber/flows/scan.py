"""Scan files: one text, or one text or submission body per line, with the gate of a policy, in bounded memory."""

import codecs
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Final

from msgspec import Raw, Struct

from antechamber.core.privacy import Finding, Gate
from antechamber.core.privacy.entries import NO_ID, Entry, UnreadableError, read_entry
from antechamber.core.privacy.pieces import PIECE, TextPiece, cut_pieces
from antechamber.core.privacy.rule import UNVERIFIED

CHUNK: Final = 65_536
"""Bytes of a file, or code points of a text, that are taken at once."""
SMALL_PIECE: Final = 16_384
"""Bytes of the pieces of a text whose scan as one piece takes too much effort."""
MAX_LINE: Final = 16 << 20
"""Bytes of the longest line that is read."""
UNREADABLE: Final = "unreadable"
"""Rule id of the finding for a text or line that cannot be read."""


class Hit(Struct, frozen=True):
    """A finding, and where it is in the file."""

    id: Raw
    """The id of the line as JSON; null for a text."""
    finding: Finding
    title: str
    kind: str
    line: int
    """Line of the file, from 1."""
    column: int | None = None
    """Column of the file, from 1; None for a line of NDJSON."""


class FileScanner:
    """Scans files with one gate."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._kinds = {rule.rule_id: rule.kind for rule in gate.rules}

    def scan_text(self, file: BinaryIO) -> Iterator[Hit]:
        """Yield what is found in a file of UTF-8; the pointer of its findings is empty."""
        try:
            for piece, finding in self._scan_pieces(_read_text(file)):
                line, column = piece.find_place(finding.start - piece.offset)
                yield self._make_hit(NO_ID, finding, line, column)
        except (UnreadableError, OSError) as error:
            yield _make_unreadable(error, 1)

    def scan_lines(self, file: BinaryIO) -> Iterator[Hit]:
        """Yield what is found in each line of NDJSON; blank lines are skipped."""
        number = 1
        try:
            for number, line in enumerate(_read_lines(file), 1):
                if line.strip():
                    yield from self._scan_line(line, number)
        except OSError as error:
            yield _make_unreadable(error, number)

    def _scan_line(self, line: bytes, number: int) -> Iterator[Hit]:
        try:
            entry = read_entry(line)
        except UnreadableError as error:
            yield _make_unreadable(error, number)
        else:
            yield from (self._make_hit(entry.id, finding, number) for finding in self._scan_entry(entry))

    def _scan_entry(self, entry: Entry) -> Iterable[Finding]:
        if entry.text is None:
            return self._gate.scan(entry.values, entry.scope)
        text = entry.text
        chunks = (text[place : place + CHUNK] for place in range(0, len(text), CHUNK))
        return (finding for _, finding in self._scan_pieces(chunks))

    def _scan_pieces(self, chunks: Iterable[str], most: int = PIECE) -> Iterator[tuple[TextPiece, Finding]]:
        """Yield the findings of a text with offsets in the whole text, each once, and the piece of each.

        A piece that takes too much effort is scanned in smaller ones: a file of code is no event, and may have as many
        names of passwords as several events.
        """
        earlier: list[Finding] = []
        for piece in cut_pieces(chunks, most):
            found = self._gate.scan({"": piece.text})
            if most > SMALL_PIECE and any(one.rule_id == UNVERIFIED for one in found):
                found = [one for _, one in self._scan_pieces([piece.text], SMALL_PIECE)]
            found = sorted((_shift(one, piece.offset) for one in found), key=lambda one: one.start)
            yield from ((piece, one) for one in found if not any(_is_same(one, other) for other in earlier))
            earlier = found

    def _make_hit(self, entry_id: Raw, finding: Finding, line: int, column: int | None = None) -> Hit:
        rule_id = finding.rule_id
        kind = self._kinds.get(rule_id, "unverified")
        return Hit(entry_id, finding, self._gate.titles[rule_id], kind, line, column)


def _make_unreadable(error: UnreadableError | OSError, line: int) -> Hit:
    """Return the finding for what cannot be read; it refuses, because nothing is known of the text."""
    reason = error.strerror if isinstance(error, OSError) else str(error)
    entry_id = error.entry_id if isinstance(error, UnreadableError) else NO_ID
    return Hit(entry_id, Finding("", UNREADABLE, "quarantine"), f"cannot be read: {reason}", UNREADABLE, line)


def _shift(finding: Finding, offset: int) -> Finding:
    """Return a finding with offsets in the whole text."""
    start, end = finding.start + offset, finding.end + offset
    return Finding(finding.pointer, finding.rule_id, finding.action, start, end, finding.decoded)


def _is_same(one: Finding, other: Finding) -> bool:
    """Return whether two findings of overlapping pieces are of the same value."""
    return one.rule_id == other.rule_id and one.start < other.end and other.start < one.end


def _read_text(file: BinaryIO) -> Iterator[str]:
    """Yield a file's text in chunks, without byte order mark.

    Raises UnreadableError if it is binary, or no UTF-8.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    while True:
        data = file.read(CHUNK)
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError:
            message = "the file is not UTF-8"
            raise UnreadableError(message) from None
        if "\0" in text:
            message = "the file is binary"
            raise UnreadableError(message)
        yield text
        if not data:
            return


def _read_lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file; one that is too long is cut, which makes it unreadable."""
    while line := file.readline(MAX_LINE):
        yield line
        while len(line) == MAX_LINE and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE)
