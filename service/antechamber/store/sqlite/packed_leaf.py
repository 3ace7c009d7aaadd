"""The form in which a SQLite file stores the leaf of an accepted submission: 0.17 kB instead of 0.48.

Almost all leaves of a log are such leaves. They differ in six values only, and of these the digests and ids are
hexadecimal. A packed leaf is the text

    1 <base64 of both digests and both ids> <digits of the time> <actor>

without blanks, of 1, 128, 20 and any number of characters. A leaf, which is an object of JSON, never begins with 1. The
form keeps every byte: what is unpacked equals what was packed, and each other leaf is stored as it is.
"""

import re
from binascii import a2b_base64, b2a_base64
from typing import Any, Final

_ID: Final = "(.{8})-(.{4})-(.{4})-(.{4})-(.{12})"
_ACCEPTED: Final = re.compile(
    r'\{"action":"submit","actor":"([^"\\]+)","from":null,"payload_commitment":"sha256:(.{64})",'
    r'"policy_digest":"blake3:(.{64})","reason_code":null,"role":"producer",'
    rf'"subject":\{{"proposal_id":"{_ID}","submission_id":"{_ID}"\}},'
    r'"time":"(.{4})-(..)-(..)T(..):(..):(..)\.(.{6})Z","to":"accepted-for-review","version":1\}'
)
"""`pack` checks the values afterwards, which takes less time than classes of characters here."""
_SIZE: Final = 96
"""Bytes of two digests and two ids."""
_TIME: Final = 129
_ACTOR: Final = 149
"""Offsets in a packed leaf."""


def pack(leaf: str) -> str:
    """Return the form in which a leaf is stored."""
    match = _ACCEPTED.fullmatch(leaf)
    if match is None:
        return leaf
    parts = match.groups()
    hexadecimal, digits = "".join(parts[1:13]), "".join(parts[13:])
    try:
        raw = bytes.fromhex(hexadecimal)
    except ValueError:
        return leaf
    # fromhex accepts capital letters and blanks too, which would come back in another form.
    if raw.hex() != hexadecimal or not (digits.isascii() and digits.isdecimal()):
        return leaf
    return f"1{b2a_base64(raw, newline=False).decode()}{digits}{parts[0]}"


def unpack(stored: str) -> str:
    """Return the leaf that a stored text holds; any other text, such as an altered one, is returned as it is."""
    if stored[:1] != "1" or len(stored) <= _ACTOR:
        return stored
    try:
        raw = a2b_base64(stored[1:_TIME], strict_mode=True)
    except ValueError:
        return stored
    if len(raw) != _SIZE:
        return stored
    own, t = raw.hex(), stored[_TIME:_ACTOR]
    return (
        f'{{"action":"submit","actor":"{stored[_ACTOR:]}","from":null,"payload_commitment":"sha256:{own[:64]}",'
        f'"policy_digest":"blake3:{own[64:128]}","reason_code":null,"role":"producer","subject":{{"proposal_id":"'
        f"{own[128:136]}-{own[136:140]}-{own[140:144]}-{own[144:148]}-{own[148:160]}"
        f'","submission_id":"{own[160:168]}-{own[168:172]}-{own[172:176]}-{own[176:180]}-{own[180:]}"}},"time":"'
        f'{t[:4]}-{t[4:6]}-{t[6:8]}T{t[8:10]}:{t[10:12]}:{t[12:14]}.{t[14:]}Z","to":"accepted-for-review","version":1}}'
    )


def with_leaf(row: dict[str, Any]) -> dict[str, Any]:
    """Replace the packed leaf in a row by its text, and return the row."""
    stored = row.get("leaf")
    if stored is not None and stored[:1] == "1":
        row["leaf"] = unpack(stored)
    return row
