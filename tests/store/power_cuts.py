"""Simulated power cuts, derived from the system calls of a real server.

The server runs under strace, which records in order every write, truncation and sync of the store's files and every
answer sent. From that record the state of the disk after a power cut at any moment can be formed: synced data is there;
of unsynced data any part may be there, in any order, torn within a write; and every answer sent before that moment is
an acknowledgment that must hold.
"""

import random
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple

CALLS: Final = (
    "pwrite64,write,writev,sendto,sendmsg,fdatasync,fsync,ftruncate,unlink,unlinkat,rename,renameat,renameat2,pwritev"
)
"""System calls to record; a store that writes in other ways, such as mapped memory, would defeat the simulation."""
SECTOR: Final = 512
_LINE: Final = re.compile(r"^(\d+)\s+(?:<\.\.\. )?(\w+)(\(| resumed>)(.*)$")
_FILE: Final = re.compile(r"^\d+<([^>]*)>")
_TEXT: Final = re.compile(r'"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?')
_NUMBERS: Final = re.compile(r", (\d+)(?:, (\d+))?\s*\)?\s*=")
_RESULT: Final = re.compile(r"= (-?\d+)")
_ANSWER: Final = re.compile(rb"HTTP/1\.1 20[01] [^\0]*?idempotency-key: ([^\r]+)\r\n")
Kind = Literal["write", "truncate", "sync", "answer"]


class Event(NamedTuple):
    """One recorded event: a file operation, or an answer sent."""

    kind: Kind
    file: str = ""
    offset: int = 0
    data: bytes = b""
    """The bytes written, or the key that was answered."""


def read_log(lines: Iterator[str], folder: Path) -> Iterator[Event]:
    """Yield the operations on the files of a folder and the answers from an strace log (-f -y -xx).

    A write counts from its end, an answer from its beginning: both are the worse case for the service.

    Raises ValueError for a call that the simulation does not know.
    """
    begun: dict[str, str] = {}
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        thread, call, opened, rest = match.groups()
        if opened == "(":
            yield from _answers(call, rest)
            if "<unfinished ...>" in rest:
                begun[thread] = rest.replace("<unfinished ...>", "")
                continue
        else:
            rest = begun.pop(thread, "") + rest
        yield from _change(call, rest, folder)


def _answers(call: str, rest: str) -> Iterator[Event]:
    if call in {"write", "writev", "sendto", "sendmsg"} and _place(rest).startswith(("socket:", "TCP")):
        yield from (Event("answer", data=key) for key in _ANSWER.findall(_bytes(rest)))


def _place(rest: str) -> str:
    """Return what a call's first argument names: the path of a file, open or by name, or a kind of socket."""
    match = _FILE.match(rest)
    text = match[1] if match else next(iter(_TEXT.findall(rest)), ("", ""))[0]
    return bytes.fromhex(text.replace("\\x", "")).decode(errors="replace") if text.startswith("\\x") else text


def _bytes(rest: str) -> bytes:
    parts = _TEXT.findall(rest)
    if any(cut for _, cut in parts):
        message = "strace cut a text short; its limit (-s) is too low"
        raise ValueError(message)
    return b"".join(bytes.fromhex(text.replace("\\x", "")) for text, _ in parts)


def _change(call: str, rest: str, folder: Path) -> Iterator[Event]:
    path, result = _place(rest), _RESULT.search(rest)
    if not path.startswith(str(folder)) or result is None or int(result[1]) < 0:
        return
    file, numbers = Path(path).name, _NUMBERS.search(rest)
    if file.startswith("log."):
        # Files of the signer: each replaces its predecessor atomically, and none records an answer.
        return
    match call:
        case "pwrite64" if numbers:
            yield Event("write", file, int(numbers[2]), _bytes(rest)[: int(result[1])])
        case "ftruncate" if numbers:
            yield Event("truncate", file, int(numbers[1]))
        case "fdatasync" | "fsync":
            yield Event("sync", file)
        case _:
            message = f"a store's file was changed by {call}, which is not simulated: {rest[:200]}"
            raise ValueError(message)


class Disk:
    """The files of a folder: the content known to be on disk, and the later writes in order."""

    def __init__(self, files: dict[str, bytes]) -> None:
        """Start with files that are on disk."""
        self._sure = {name: bytearray(data) for name, data in files.items()}
        self._pending: dict[str, list[Event]] = {}

    def apply(self, event: Event) -> None:
        """Apply one event to a file."""
        if event.kind == "sync":
            for one in self._pending.pop(event.file, []):
                _apply(self._sure.setdefault(event.file, bytearray()), one)
        elif event.kind != "answer":
            self._pending.setdefault(event.file, []).append(event)

    def after_power_cut(self, chance: random.Random, kept: float) -> dict[str, bytes]:
        """Return files after a power cut; each unsynced change survives with a probability, some only in part."""
        files = {name: bytearray(data) for name, data in self._sure.items()}
        for name, changes in self._pending.items():
            for one in changes:
                if chance.random() < kept:
                    _apply(files.setdefault(name, bytearray()), _torn(one, chance) if chance.random() < 0.2 else one)
        return {name: bytes(data) for name, data in files.items()}


def _apply(data: bytearray, event: Event) -> None:
    if event.kind == "truncate":
        del data[event.offset :]
        data.extend(bytes(event.offset - len(data)))
        return
    data.extend(bytes(max(0, event.offset - len(data))))
    data[event.offset : event.offset + len(event.data)] = event.data


def _torn(event: Event, chance: random.Random) -> Event:
    """Return the part of a write that reached the disk: whole sectors from its beginning or up to its end."""
    if event.kind != "write" or len(event.data) <= SECTOR:
        return event
    cut = chance.randrange(1, (len(event.data) - 1) // SECTOR + 1) * SECTOR
    if chance.random() < 0.5:
        return event._replace(data=event.data[:cut])
    return event._replace(offset=event.offset + cut, data=event.data[cut:])


class Found(NamedTuple):
    """The state that a power cut left."""

    lost: set[bytes]
    broken: list[str]
    answered: int
    written: int


def cut_power(
    files: dict[str, bytes], events: list[Event], moment: int, chance: random.Random, kept: float, folder: Path
) -> Found:
    """Cut the power before event number `moment`, let SQLite recover, and compare with the answers sent by then."""
    disk = Disk(files)
    for event in events[:moment]:
        disk.apply(event)
    answered = {event.data for event in events[:moment] if event.kind == "answer"}
    folder.mkdir()
    for name, data in disk.after_power_cut(chance, kept).items():
        # The WAL index is rebuilt from the WAL; it is mapped memory and never synced.
        if not name.endswith("-shm"):
            (folder / name).write_bytes(data)
    connection = sqlite3.connect(folder / "antechamber.db")
    try:
        broken = [row[0] for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
        stored = {row[0].encode() for row in connection.execute("SELECT idempotency_key FROM submissions")}
    except sqlite3.DatabaseError as error:
        broken, stored = [str(error)], set()
    finally:
        connection.close()
    return Found(answered - stored, broken, len(answered), sum(event.kind == "write" for event in events[:moment]))
