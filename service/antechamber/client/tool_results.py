"""Results of tools from any session library: what they report, how they are stored, and how they are searched."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct

from antechamber.client.resend_strategy import Ending
from antechamber.core.conversion import parse_json

_MAX_REASON_CHARACTERS: Final = 300
"""Maximum number of characters of an error stored as a reason."""


_UNANSWERED: Final = frozenset({-32000, -32001})
"""Connection closed, request timed out: codes that the SDK's clients raise when no answer arrived."""


class KeptResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """A result as stored in the ledger, with the member names of MCP."""

    content: list[dict[str, Any]] = []
    structured_content: Any = None
    is_error: bool = False


def decode_result(raw: bytes) -> KeptResult:
    """Decode a stored result."""
    return parse_json(raw, KeptResult)


def encode_result(result: Any) -> bytes:
    """Encode a result; one that cannot be encoded is stored as an empty one, because its effect exists all the same."""
    try:
        if hasattr(result, "model_dump_json"):
            return bytes(result.model_dump_json(by_alias=True, exclude_none=True).encode())
        return msgspec.json.encode(result)
    except (TypeError, ValueError):
        return msgspec.json.encode(KeptResult())


def ending_of(result: Any) -> tuple[Ending, str]:
    """Return how a call ended that returned this; only a complete result counts as `done` or `error`."""
    kind = _member(result, "result_type", "resultType")
    if not isinstance(_member(result, "content"), list | tuple) or kind not in {None, "complete"}:
        return "unclear", f"the answer is no result of a tool: {kind or type(result).__name__}"
    if _member(result, "is_error", "isError"):
        return "error", _shorten(f"the tool failed: {' '.join(_texts(result))}")
    return "done", ""


def ending_of_error(error: Exception) -> tuple[Ending, str]:
    """Return how a call ended that raised this; codes that the client itself creates mean that no answer arrived."""
    code = getattr(getattr(error, "error", error), "code", None)
    answered = (isinstance(code, int) and code not in _UNANSWERED) or isinstance(error, ValueError | RuntimeError)
    return ("unclear" if answered else "silent"), _shorten(f"{type(error).__name__}: {error}")


def _shorten(text: str) -> str:
    """Return the text shortened and without characters that cannot be encoded."""
    return text[:_MAX_REASON_CHARACTERS].encode(errors="replace").decode()


def _member(result: Any, *names: str) -> Any:
    """Return a member by any of its names, which differ between session libraries."""
    for name in names:
        member = result.get(name) if isinstance(result, dict) else getattr(result, name, None)
        if member is not None:
            return member
    return None


def _texts(result: Any) -> Iterator[str]:
    for block in _member(result, "content") or []:
        text = _member(block, "text")
        if isinstance(text, str):
            yield text


def token_in(*path: str) -> Callable[[Any, str], bool]:
    """Return a function that looks for a token in the texts at the end of a path through the result.

    The path names members; lists on the way are searched. A result without structured content is read as JSON texts. A
    search of the whole result would take a tool's "nothing found for …" for the effect itself. A path that does not
    exist is no proof that the effect is missing: the function raises LookupError then.
    """

    def has_token(result: Any, token: str) -> bool:
        structured = _member(result, "structured_content", "structuredContent")
        roots = [structured] if structured is not None else [json.loads(text) for text in _texts(result)]
        if not roots:
            raise LookupError("/".join(path))
        texts = [text for root in roots for text in _at(root, path)]
        return any(token in text for text in texts)

    return has_token


def _at(value: Any, path: tuple[str, ...]) -> Iterator[str]:
    """Yield the texts at the end of a path.

    Raises LookupError if the path does not exist.
    """
    if isinstance(value, list):
        for member in value:
            yield from _at(member, path)
    elif path and isinstance(value, dict):
        yield from _at(value[path[0]], path[1:])
    elif not path and isinstance(value, str):
        yield value
    elif path or value is not None:
        raise LookupError("/".join(path))
