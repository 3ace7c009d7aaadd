"""All texts of an event in one string, so that one pass of the automata decides for most events."""

from bisect import bisect_right
from collections.abc import Container
from typing import Any, Final

from antechamber.core.admission.canonical import escape_pointer

SEPARATOR: Final = "\n\0\n"
"""Between two texts; no token, number or white space of a pattern reaches across it."""
_CONTRACT_NAMES: Final = frozenset(
    {"kind", "content", "tags", "attributes", "uri", "start", "end", "revision", "heading"}
)
"""Names of the contract at the top of an object, which are no words of the producer; reading them takes time."""
_LONGEST_MEMBER: Final = 512
"""Characters of a value up to which a member is also read as `name: value`."""


_NAMING: Final = ("name", "key", "variable", "field", "header")
_VALUED: Final = ("value", "val", "default")
"""Members of an object that name a value and hold it, such as those of a variable in a manifest of Kubernetes."""


class Step:
    """One step of a JSON pointer: a member's name or an index, below another step."""

    __slots__ = ("name", "parent", "place")

    def __init__(self, parent: "Step | None", name: str, place: int = -1) -> None:
        self.parent = parent
        self.name = name
        self.place = place
        """Index of the name among those that are read; -1 for an index of an array and for other steps."""

    def pointer(self, hidden: Container[int]) -> str:
        """Return the JSON pointer, without the names whose places are `hidden`."""
        if self.parent is None:
            return self.name
        above = self.parent.pointer(hidden)
        return above if self.place in hidden else f"{above}/{escape_pointer(self.name)}"


class Place:
    """Where a text of the document is in the event.

    A text begins `prefix` characters after the beginning of the place: a member that is read as `name: value` begins
    with its name.
    """

    __slots__ = ("is_name", "prefix", "start", "step")

    def __init__(self, start: int, step: Step, prefix: int = 0, *, is_name: bool = False) -> None:
        self.start = start
        self.step = step
        self.prefix = prefix
        self.is_name = is_name


def _without_null(text: str) -> str:
    """Replace each U+0000 by another control character, so that offsets stay."""
    return text.replace("\0", "\x01")


class EventText:
    """The strings, names and numbers of an event, joined, with the place of each.

    The values come first in their order, then the names, then the members of free objects as `name: value`.
    """

    def __init__(self, values: dict[str, Any]) -> None:
        """Collect the texts; their places are found when they are first asked for, as most events have no findings."""
        self._document = values
        self._texts: list[str] = []
        self._names: list[str] = []
        members: list[str] = []
        for value in values.values():
            if type(value) is str:
                self._texts.append(value)
            else:
                _gather(value, self._texts, self._names, members, 0)
        self._parts = [*self._texts, *self._names, *members]
        self.text = SEPARATOR.join(self._parts)
        if self.text.count("\0") >= len(self._parts):
            # U+0000 inside a text would end it here. The rules for hidden characters find what replaces it.
            self._texts = [_without_null(text) for text in self._texts]
            self._parts = [_without_null(part) for part in self._parts]
            self.text = SEPARATOR.join(self._parts)
        self._steps: list[Step] = []
        self._parents: list[Step] = []
        self._members: list[tuple[str, Step]] = []
        self._starts: list[int] = []

    def _find_places(self) -> None:
        """Note the place of each text, in the order in which they were collected."""
        for pointer, value in self._document.items():
            self._read(value, Step(None, pointer), 0)
        start = 0
        for part in self._parts:
            self._starts.append(start)
            start += len(part) + len(SEPARATOR)

    def _read(self, value: Any, step: Step, depth: int) -> None:
        """Note the place of every string, name and number of a value; `depth` is that below its pointer."""
        kind = type(value)
        if kind is dict:
            self._read_object(value, step, depth)
        elif kind is list or kind is tuple:
            for index, item in enumerate(value):
                self._read(item, Step(step, str(index)), depth)
        elif kind is str or kind is int or kind is float:
            self._steps.append(step)

    def _read_object(self, value: dict[Any, Any], step: Step, depth: int) -> None:
        steps: dict[str, Step] = {}
        for key, member in value.items():
            name = str(key)
            if depth or name not in _CONTRACT_NAMES:
                below = Step(step, name, len(self._parents))
                self._parents.append(step)
            else:
                below = Step(step, name)
            first = len(self._steps)
            steps[name] = below
            self._read(member, below, depth + 1)
            if depth and type(member) is not dict:
                for place in range(first, len(self._steps)):
                    if len(self._texts[place]) <= _LONGEST_MEMBER:
                        self._members.append((name, self._steps[place]))
            elif depth and (holding := _holding_of(member)) is not None:
                read = self._steps[first:]
                self._members.append((name, next(s for s in read if s.parent is below and s.name == holding)))
        if depth and (pair := _pair_of(value)) is not None:
            self._members.append((value[pair[0]], steps[pair[1]]))

    @property
    def values(self) -> list[str]:
        """The texts that are values, with which the event's text begins."""
        return self._texts

    @property
    def size(self) -> int:
        """Number of parts."""
        return len(self._parts)

    def find_part(self, offset: int) -> int:
        """Return the index of the part of the text to which an offset belongs."""
        if not self._starts:
            self._find_places()
        return bisect_right(self._starts, offset) - 1

    def longest_part(self) -> int:
        """Return the index of the longest part."""
        self.find_part(0)
        return max(range(len(self._parts)), key=lambda part: len(self._parts[part]))

    def place(self, part: int) -> Place:
        """Return the place of a part in the event."""
        start = self._starts[part]
        if part < len(self._texts):
            return Place(start, self._steps[part])
        number = part - len(self._texts)
        if number < len(self._names):
            return Place(start, self._parents[number], is_name=True)
        name, step = self._members[number - len(self._names)]
        return Place(start, step, len(name) + 2)

    def name_index(self, part: int) -> int:
        """Return the index of a name among the names of the document."""
        return part - len(self._texts)

    def start(self, part: int) -> int:
        """Return the offset of the beginning of a part."""
        return self._starts[part]

    def end(self, part: int) -> int:
        """Return the offset of the end of a part."""
        return self._starts[part] + len(self._parts[part])


def _gather(value: Any, texts: list[str], names: list[str], members: list[str], depth: int) -> None:
    """Collect every string and number of a value that is no string itself, and its names.

    The members of free objects are collected as `name: value` too.
    """
    kind = type(value)
    if kind is dict:
        _gather_members(value, texts, names, members, depth)
    elif kind is int or kind is float:
        texts.append(str(value))
    elif kind is list or kind is tuple:
        for item in value:
            if type(item) is str:
                texts.append(item)
                continue
            _gather(item, texts, names, members, depth)


def _gather_members(value: dict[Any, Any], texts: list[str], names: list[str], members: list[str], depth: int) -> None:
    for name, member in value.items():
        if depth or name not in _CONTRACT_NAMES:
            names.append(str(name))
        first = len(texts)
        kind = type(member)
        if kind is str:
            texts.append(member)
        elif kind is int:
            texts.append(str(member))
        elif member is not None:
            _gather(member, texts, names, members, depth + 1)
        if depth:
            members += _named(name, member, texts[first:])
    if depth and (pair := _pair_of(value)) is not None:
        members.append(f"{value[pair[0]]}: {value[pair[1]]}")


def _named(name: Any, member: Any, texts: list[str]) -> list[str]:
    """Return the texts of a member as `name: value`; of an object only the text that it holds as a value."""
    if type(member) is not dict:
        return [f"{name}: {text}" for text in texts if len(text) <= _LONGEST_MEMBER]
    holding = _holding_of(member)
    return [] if holding is None else [f"{name}: {member[holding]}"]


def _pair_of(value: dict[Any, Any]) -> tuple[str, str] | None:
    """Return the members of an object that name a value and hold it, or None without such a pair."""
    holding = _holding_of(value)
    naming = next((name for name in _NAMING if type(value.get(name)) is str), None) if holding else None
    if holding is None or naming is None or len(value[naming]) + len(value[holding]) > _LONGEST_MEMBER:
        return None
    return naming, holding


def _holding_of(value: dict[Any, Any]) -> str | None:
    """Return the name of the member that holds an object's value, such as `value`, or None without a short one."""
    return next(
        (name for name in _VALUED if type(held := value.get(name)) is str and len(held) <= _LONGEST_MEMBER), None
    )
