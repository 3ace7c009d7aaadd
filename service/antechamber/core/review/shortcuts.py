"""Keyboard shortcuts of the desk: one for each frequent action; all can be changed or turned off (WCAG 2.2, 2.1.4)."""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct

OFF: Final = "off"
"""The stored value for a person who switched all shortcuts off."""


class Shortcut(Struct, frozen=True):
    """One action with its default key and its label."""

    action: str
    key: str
    label: str


SHORTCUTS: Final = (
    Shortcut("start", "g", "Go: claim the first free proposal of the filter and open it"),
    Shortcut("approve", "a", "Approve what is shown; save the edit that is shown"),
    Shortcut("reject", "r", "Reject; then the digit of a reason"),
    Shortcut("note", "n", "Write a note, which any decision keeps; Tab leaves the field"),
    Shortcut("edit", "e", "Edit the text; Tab leads to the reasons, a digit shows the difference"),
    Shortcut("merge", "m", "Merge into or supersede a memory; then the digit of a choice"),
    Shortcut("flag", "f", "Request a second review"),
    Shortcut("ask", "q", "Ask the producer what the note field says"),
    Shortcut("assign", "i", "Assign to a person"),
    Shortcut("undo", "z", "Undo your last decision"),
    Shortcut("view", "v", "Show the text as read, or as stored"),
    Shortcut("group", "b", "Open the near duplicates"),
    Shortcut("source", "o", "Open the proposals from one source"),
    Shortcut("record", "w", "Record the marks of a page"),
    Shortcut("keep", "d", "Keep the marked one of near duplicates, reject the others"),
    Shortcut("skip", "s", "Skip to the next proposal"),
    Shortcut("next", "j", "Move to the next row"),
    Shortcut("previous", "k", "Move to the row before"),
    Shortcut("queue", "u", "Up to the queue"),
    Shortcut("filter", "/", "Filter the queue"),
    Shortcut("refresh", ".", "Show what changed meanwhile"),
    Shortcut("help", "?", "Show the keys of this page"),
)
USUAL: Final[dict[str, str]] = {one.action: one.key for one in SHORTCUTS}


class ShortcutError(ValueError):
    """Raised when shortcuts cannot be stored; the message explains what to change."""


def decode_shortcuts(stored: str | None) -> dict[str, str]:
    """Return the key of each action from a person's stored value; empty if shortcuts are switched off.

    An action that is newer than the stored value has its default key, unless another action uses that key.
    """
    if stored is None:
        return dict(USUAL)
    if stored == OFF:
        return {}
    choice: dict[str, str] = msgspec.json.decode(stored)
    keys = {action: key for action, key in choice.items() if action in USUAL}
    return keys | {action: key for action, key in USUAL.items() if action not in keys and _is_free(action, key, keys)}


def _is_free(action: str, key: str, keys: Mapping[str, str]) -> bool:
    """Return whether no other action has a key."""
    return all(other == action for other, used in keys.items() if used == key)


def _without(choice: Mapping[str, str], action: str) -> dict[str, str]:
    return {other: choice[other] for other in USUAL if other != action}


def encode_shortcuts(choice: Mapping[str, str]) -> str | None:
    """Return the value to store for a choice of shortcuts; None for the defaults.

    Raises ShortcutError unless every action has its own key that is a letter or a sign, neither digit nor space.
    """
    for shortcut in SHORTCUTS:
        key = choice.get(shortcut.action, "")
        if len(key) != 1 or not "!" <= key <= "~" or key.isdigit():
            message = f'"{shortcut.label}" needs one key: a letter or a sign; digits choose reasons'
            raise ShortcutError(message)
    if not all(_is_free(action, choice[action], _without(choice, action)) for action in USUAL):
        message = "Two actions have the same key; give each its own"
        raise ShortcutError(message)
    return None if choice == USUAL else msgspec.json.encode({action: choice[action] for action in USUAL}).decode()
