"""The labelled set for search: memories, questions with their answers, and questions without; see search_set.txt."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

FILE: Final = Path(__file__).with_name("search_set.txt")
QUESTION: Final = "? "
UNANSWERABLE: Final = "! "
FOR_TUNING: Final = {"+ ": QUESTION, "- ": UNANSWERABLE}
"""Questions that are never unseen."""


class Question(NamedTuple):
    """A question, and the ids of the memories that answer it; without ids nothing does."""

    text: str
    answers: tuple[str, ...] = ()


class LabelledSet(NamedTuple):
    """Payloads of memories by their ids, and the questions with and without answers."""

    memories: dict[str, dict[str, Any]]
    answerable: list[Question]
    unanswerable: list[Question]


def load(*, unseen: bool) -> LabelledSet:
    """Return the labelled set with the questions that are unseen while one tunes, or with all others."""
    every = _read(lambda line: None if line[:2] in FOR_TUNING else line)
    if unseen:
        return LabelledSet(every.memories, every.answerable[1::2], every.unanswerable[1::2])
    more = _read(lambda line: FOR_TUNING[line[:2]] + line[2:] if line[:2] in FOR_TUNING else None)
    return LabelledSet(
        every.memories, every.answerable[::2] + more.answerable, every.unanswerable[::2] + more.unanswerable
    )


def _read(take: Callable[[str], str | None]) -> LabelledSet:
    loaded = LabelledSet({}, [], [])
    for line in filter(None, map(take, filter(None, FILE.read_text(encoding="utf-8").splitlines()))):
        if line.startswith(QUESTION):
            text, _, answers = line.removeprefix(QUESTION).rpartition(" | ")
            loaded.answerable.append(Question(text, tuple(answers.split())))
        elif line.startswith(UNANSWERABLE):
            loaded.unanswerable.append(Question(line.removeprefix(UNANSWERABLE)))
        elif not line.startswith("#"):
            memory_id, kind, content = line.split(" | ", 2)
            loaded.memories[memory_id] = {"kind": kind, "content": content}
    return loaded
