"""The audit package: the names of its files, and its README in plain words."""

from typing import Final

FOLDER: Final = "antechamber-audit"
COMMAND: Final = "python3 verify_export.py log.jsonl --checkpoint checkpoint.txt --key-file key.txt"
"""The one command that verifies the package, in its folder."""
_README: Final = """\
AUDIT PACKAGE OF AN ANTECHAMBER

This folder holds all {size} entries of the log of {origin}, and a program that
verifies them. The program is one file, needs Python 3.11 or later
and no network, and uses no code of the service.

HOW TO VERIFY IT

Open a terminal in this folder and run this one command:

    {command}

"Verified" and exit status 0 mean that everything holds. "NOT verified" and exit
status 1 mean that something does not; the message names the entry.

FILES

log.jsonl          every entry of the log, one a line, and the closing record
checkpoint.txt     the signed summary of these entries
key.txt            the key that belongs to the signature; of several, the newest
                   is the first, and that one has to have signed
verify_export.py   the program

WHAT THIS PROVES

- Exactly these entries were in the log, in this order, when the checkpoint was
  signed. None was altered, removed, added or moved since.
- Each entry says who did what to which item, when, from which state to which,
  under which policy and for which reason.

WHAT THIS DOES NOT PROVE

- That the key is the right one. It came with this package. Compare key.txt with
  a copy that you got in another way, as from the operator or on an earlier visit.
- That the log was not replaced as a whole before you saw it first. Keep
  checkpoint.txt. At the next visit, add this to the command, with the name of
  the file that you kept:

    --previous checkpoint-of-last-visit.txt

- That what was recorded is true: a wrong clock is recorded as it was.
- The texts. The log has a commitment to each text and not the text. Exports of
  decisions, answers and notes have the texts, each with its proof.

WORDS

entry (leaf)       one record of the log; its number is its sequence
checkpoint         the number of entries and one hash over all of them, signed
commitment         a hash of a text and a random salt: who has both can prove the
                   text, and who has neither learns nothing of it
"""


def package_readme(origin: str, size: int) -> bytes:
    """Return the README of a package of `size` leaves of the log of this name, in UTF-8."""
    return _README.format(origin=origin, size=f"{size:,}", command=COMMAND).encode()
