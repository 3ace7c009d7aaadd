"""The labelled set for search: memories, questions with their answers, and questions without; see search_set.txt."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

FILE: Final = Path(__file__).with_name("search_set.txt")
QUESTION: Final = "? "
UNANSWERABLE: Final = "! "
FOR_TUNING: Final = {"+ ": QUESTION, "- ": UNANSWERABLE}
"""Questions that are never unseen."""
HELD_BACK: Final = {"~ ": UNANSWERABLE}
"""Questions that are always unseen."""


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
    every = _read(lambda line: None if line[:2] in FOR_TUNING | HELD_BACK else line)
    more = _marked(HELD_BACK if unseen else FOR_TUNING)
    half = slice(int(unseen), None, 2)
    return LabelledSet(
        every.memories, every.answerable[half] + more.answerable, every.unanswerable[half] + more.unanswerable
    )


def _marked(marks: dict[str, str]) -> LabelledSet:
    """Return the questions whose lines begin with one of the marks, as the kinds that the marks name."""
    return _read(lambda line: marks[line[:2]] + line[2:] if line[:2] in marks else None)


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
