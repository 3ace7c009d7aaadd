"""Results of tools, whoever's session they come from: what they say, how they are kept, and what is found in them."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct

from antechamber.core.calls import REFUSED, Ending

_MOST: Final = 300
"""Characters of an error that are kept as a reason."""


class KeptResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """A result as the ledger kept it, in the words of MCP."""

    content: list[dict[str, Any]] = []
    structured_content: Any = None
    is_error: bool = False


def kept_result(raw: bytes) -> KeptResult:
    """Read what was kept of a result."""
    return msgspec.json.decode(raw, type=KeptResult)


def keep(result: Any) -> bytes:
    """Encode a result; what cannot be encoded is kept as an empty one, because its effect is there all the same."""
    try:
        if hasattr(result, "model_dump_json"):
            return bytes(result.model_dump_json(by_alias=True, exclude_none=True).encode())
        return msgspec.json.encode(result)
    except (TypeError, ValueError):
        return msgspec.json.encode(KeptResult())


def ending_of(result: Any) -> tuple[Ending, str]:
    """Say how a call ended that brought this result."""
    if _member(result, "is_error", "isError"):
        return "error", f"the tool failed: {' '.join(_texts(result))}"[:_MOST]
    return "done", ""


def ending_of_error(error: Exception) -> tuple[Ending, str]:
    """Say how a call ended that raised this: only two codes say that no tool ran."""
    said = f"{type(error).__name__}: {error}"[:_MOST]
    code = getattr(getattr(error, "error", error), "code", None)
    return ("refused" if code in REFUSED else "unclear"), said


def _member(result: Any, *names: str) -> Any:
    """Return a member by whichever name the session's library gives it."""
    for name in names:
        found = result.get(name) if isinstance(result, dict) else getattr(result, name, None)
        if found is not None:
            return found
    return None


def _texts(result: Any) -> Iterator[str]:
    for one in _member(result, "content") or []:
        text = _member(one, "text")
        if isinstance(text, str):
            yield text


def token_in(*path: str) -> Callable[[Any, str], bool]:
    """Return what looks for a token where it belongs: in the texts at the end of a path through the result.

    The path names members; lists on the way are gone through. A result without structured content is read as JSON
    texts. Looking anywhere at all would take a tool's "nothing found for …" for the effect itself.
    """

    def found(result: Any, token: str) -> bool:
        structured = _member(result, "structured_content", "structuredContent")
        roots = [structured] if structured is not None else list(_parsed(_texts(result)))
        return any(token in text for root in roots for text in _at(root, path))

    return found


def _parsed(texts: Iterator[str]) -> Iterator[Any]:
    for text in texts:
        try:
            yield json.loads(text)
        except ValueError:
            continue


def _at(value: Any, path: tuple[str, ...]) -> Iterator[str]:
    """Yield the texts at the end of a path."""
    if isinstance(value, list):
        for one in value:
            yield from _at(one, path)
    elif not path:
        if isinstance(value, str):
            yield value
    elif isinstance(value, dict):
        yield from _at(value.get(path[0]), path[1:])
