"""The tools for models: their strict arguments, and the interface that submits for them.

No argument is a key or a hash: both are made behind the interface, so that no model can invent or lose one.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final, Protocol, get_args

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from antechamber.core.contract import (
    KEY_PATTERN,
    MAX_DERIVED_FROM,
    MAX_INTEGER,
    MAX_NOTE,
    MAX_SCOPES,
    MAX_TAG,
    MAX_TAGS,
    NAME_PATTERN,
    Holder,
    Match,
    MemoryPage,
    NoteItem,
    Reason,
    Receipt,
    ReviewStatus,
    Scope,
)
from antechamber.core.conversion import parse_json
from antechamber.core.delivery_rules import State
from antechamber.core.errors import RequestRefusedError, refuse

MAX_ATTRIBUTES: Final = 64
MAX_ARGUMENT_CHARACTERS: Final = 128 * 1024
"""Maximum number of characters of all arguments of a call together."""
_WORD: Final = re.compile(r"\w+", re.ASCII)
ScopeId = Annotated[str, Meta(pattern=f"^{NAME_PATTERN}$", description="Which one of that kind of scope, e.g. apollo.")]
LineNumber = Annotated[int, Meta(ge=1, le=MAX_INTEGER)]
_TEXT: Final = {"type": "string"}
"""Strict modes ask for the type of an enumeration, which msgspec leaves out."""
ScopeKind = Annotated[Scope, Meta(description="For whom it is: the kind of scope.", extra_json_schema=_TEXT)]
_AttributeName = Annotated[str, Meta(pattern="^[a-z][a-z0-9_]*$", description="A name such as severity.")]
_Integer = Annotated[int, Meta(ge=-MAX_INTEGER, le=MAX_INTEGER)]


class Attribute(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One attribute: a list of these has a closed schema, as strict modes of model providers require it."""

    name: _AttributeName
    value: Annotated[str | _Integer | bool | list[str] | None, Meta(description="Write decimals as strings.")]


class ProposeMemory(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `propose_memory`; null is the same as an argument that is not given, for strict modes send all."""

    content: Annotated[str, Meta(min_length=1, description="The text to remember, as it should be read later.")]
    kind: Annotated[str, Meta(min_length=1, description="fact, procedure, preference, decision or warning.")]
    submission_scope: ScopeKind
    scope_id: ScopeId
    source_uri: Annotated[str, Meta(min_length=1, description="Where it was seen, e.g. repo://apollo/RUNBOOK.md.")]
    source_start: Annotated[LineNumber, Meta(description="First line there, from 1.")] | None = None
    source_end: Annotated[LineNumber, Meta(description="Last line there, included.")] | None = None
    source_revision: Annotated[str, Meta(description="Revision of the source, e.g. a commit.")] | None = None
    source_heading: Annotated[str, Meta(description="Heading under which it was seen.")] | None = None
    tags: (
        Annotated[
            list[Annotated[str, Meta(min_length=1, max_length=MAX_TAG)]],
            Meta(max_length=MAX_TAGS, description="Words without white space."),
        ]
        | None
    ) = None
    attributes: (
        Annotated[list[Attribute], Meta(max_length=MAX_ATTRIBUTES, description="Anything else, each name once.")] | None
    ) = None
    derived_from: (
        Annotated[
            list[Annotated[str, Meta(pattern=f"^{KEY_PATTERN}$")]],
            Meta(
                min_length=1,
                max_length=MAX_DERIVED_FROM,
                description="memory_id of each memory that led to this one, as search_memory returned it.",
            ),
        ]
        | None
    ) = None
    supersedes: (
        Annotated[
            str,
            Meta(
                pattern=f"^{KEY_PATTERN}$",
                description="memory_id of the memory that this one should replace, as search_memory returned it.",
            ),
        ]
        | None
    ) = None

    def attribute_values(self) -> dict[str, Any] | None:
        """Return the attributes as an event has them; None if they are not given.

        Raises RequestRefusedError if a name comes twice.
        """
        if self.attributes is None:
            return None
        values = {attribute.name: attribute.value for attribute in self.attributes}
        if len(values) < len(self.attributes):
            raise refuse("duplicate-member", "a name comes twice", "/payload/attributes")
        return values


class SubmissionStatus(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `submission_status`."""

    submission_id: Annotated[str, Meta(min_length=1, max_length=128, description="As propose_memory returned it.")]


class MemoryScopes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `memory_scopes`: none."""


class AnswerQuestion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `answer_question`."""

    submission_id: Annotated[
        str, Meta(min_length=1, max_length=128, description="The submission whose status shows the question.")
    ]
    text: Annotated[
        str, Meta(min_length=1, max_length=MAX_NOTE, description="The answer; without secrets and personal data.")
    ]


class SearchMemory(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Arguments of `search_memory`."""

    query: Annotated[str, Meta(description="A question in your own words; empty for the newest memories.")]
    submission_scope: ScopeKind | None = None
    scope_id: ScopeId | None = None
    scopes: (
        Annotated[
            list[Annotated[str, Meta(pattern=f"^[a-z_]+:{NAME_PATTERN}$")]],
            Meta(
                min_length=1,
                max_length=MAX_SCOPES,
                description="Several scopes at once, e.g. project:apollo, instead of submission_scope and scope_id.",
            ),
        ]
        | None
    ) = None
    match: Annotated[
        Match, Meta(description="all: each word must occur; any: the best answers.", extra_json_schema=_TEXT)
    ] = "any"

    def named_scope(self) -> tuple[Scope | None, str | None]:
        """Return the one scope that is named by its kind and id; None for what is not given."""
        return self.submission_scope, self.scope_id

    def several_scopes(self) -> list[str]:
        """Return the scopes that are named as `kind:id`."""
        return self.scopes or []


PLACES: Final = {
    "/payload/content": "content",
    "/payload/kind": "kind",
    "/payload/tags": "tags",
    "/payload/attributes": "attributes",
    "/source_span/uri": "source_uri",
    "/source_span/start": "source_start",
    "/source_span/end": "source_end",
    "/source_span/revision": "source_revision",
    "/source_span/heading": "source_heading",
    "/submission_scope": "submission_scope",
    "/scope_id": "scope_id",
    "/derived_from": "derived_from",
    "/supersedes": "supersedes",
    "/scope": "scopes",
    "/match": "match",
    "/q": "query",
    "/text": "text",
}
"""The argument that each pointer of the contract refers to."""


def event_of(proposed: ProposeMemory, producer: str) -> dict[str, Any]:
    """Return the event that a producer submits; arguments that are not given stay absent.

    Raises RequestRefusedError if an attribute comes twice.
    """
    payload = {name: getattr(proposed, name) for name in ("kind", "content", "tags")}
    span = {name: getattr(proposed, f"source_{name}") for name in ("uri", "start", "end", "revision", "heading")}
    event = {
        "producer_identity": producer,
        "submission_scope": proposed.submission_scope,
        "scope_id": proposed.scope_id,
        "payload": _given(payload | {"attributes": proposed.attribute_values()}),
        "source_span": _given(span),
        "derived_from": proposed.derived_from,
        "supersedes": proposed.supersedes,
    }
    return _given(event)


def _given(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def argument_of(pointer: str | None) -> str | None:
    """Return the argument that a pointer of the contract refers to, or None."""
    return PLACES.get(_place(pointer) or "")


def _place(pointer: str | None) -> str | None:
    """Return the part of a pointer that identifies an argument, or None."""
    parts = (pointer or "").split("/")
    return next((index for index in ("/".join(parts[:3]), "/".join(parts[:2])) if index in PLACES), None)


def without_names(reasons: Sequence[Reason]) -> list[Reason]:
    """Return reasons whose pointers identify arguments only, because a name that a model made up could be a secret."""
    return [replace(reason, pointer=_place(reason.pointer)) for reason in reasons]


class ToolReceipt(Struct, frozen=True, kw_only=True):
    """What became of an event that a tool proposed."""

    state: State
    receipt: Receipt | None
    reason: str
    operation_id: str
    sent: bool = True
    """False if no attempt can have arrived; if there is a receipt, it is then the service's refusal of the token."""


class Status(Receipt, frozen=True, kw_only=True):
    """A receipt, and what a curator made of it."""

    review: ReviewStatus | None = None


def open_question_of(status: Status) -> NoteItem | None:
    """Return the question that waits for an answer, if the latest one was not answered."""
    notes = status.review.notes if status.review is not None and status.review.state == "pending" else []
    asked = [note for note in notes if note.kind in {"question", "answer"}]
    return asked[-1] if asked and asked[-1].kind == "question" else None


class ToolFailure(Struct, frozen=True, kw_only=True):
    """The error of a tool call for a model; the message explains what to do."""

    code: str
    message: str
    argument: str | None = None
    retry_same_arguments: bool = False
    """Whether a call with the same arguments is safe and recommended."""
    reasons: list[Reason] = []
    operation_id: str | None = None
    submission_id: str | None = None
    """The original's, if the same call proposed something else before."""


_NO_JSON: Final = (
    "the arguments are no JSON that can be sent: a number that is not finite, half of a surrogate pair, or lists inside"
    " lists without end"
)


def read_arguments(arguments: dict[str, Any], kind: type[Struct]) -> Struct:
    """Parse arguments as strictly as the HTTP route parses a body: no unknown member, no type conversion.

    Raises RequestRefusedError if the arguments do not fit the tool.
    """
    try:
        text = json.dumps(arguments, ensure_ascii=False, allow_nan=False)
        raw = text.encode()
        if len(text) > MAX_ARGUMENT_CHARACTERS:
            raise RequestRefusedError([_reason(f"the arguments have more than {MAX_ARGUMENT_CHARACTERS} characters")])
        return parse_json(raw, kind)
    except msgspec.ValidationError as error:
        raise RequestRefusedError([_reason("; ".join(_mistakes(arguments, kind, str(error))))]) from None
    except (ValueError, TypeError, RecursionError, msgspec.DecodeError):
        raise RequestRefusedError([_reason(_NO_JSON)]) from None


def _reason(message: str) -> Reason:
    return Reason(code="malformed", message=message)


def _mistakes(arguments: dict[str, Any], kind: type[Struct], found: str) -> Iterator[str]:
    """Yield all arguments that are missing, and what msgspec found, which names the first mistake alone."""
    required = (field.name for field in msgspec.structs.fields(kind) if field.required)
    missing = [name for name in required if name not in arguments]
    if missing:
        yield "missing required fields: " + ", ".join(missing)
    if not missing or not found.startswith("Object missing required field"):
        yield _mild(found, kind)


def _mild(text: str, kind: type[Struct]) -> str:
    """Return msgspec's message about types and arguments without the values that it repeats, which could be secrets."""
    names = kind.__struct_fields__
    if text.startswith("Object contains unknown field"):
        return "this tool has no such argument; it has " + (", ".join(names) or "none")
    what, _, place = text.rpartition(" - at `$.")
    name = _WORD.match(place)
    if text.startswith("Invalid enum value"):
        choices = _choices(kind, name[0]) if name is not None else ""
        what = f"the value is none of {choices or 'those that the schema of the tool lists'}"
    return f"{what} (argument `{name[0]}`)" if name is not None and name[0] in names else (what or text)


class Submitting(Protocol):
    """Submits and reads for the tools."""

    async def propose(self, proposed: ProposeMemory, key: str | None) -> ToolReceipt:
        """Submit an event under a key that the call has, or None.

        Raises RequestRefusedError if it is malformed, AntechamberError if nothing could be recorded.
        """
        ...

    async def status(self, submission_id: str) -> Status | None:
        """Return the receipt and review of the producer's own submission, or None if there is none by that id.

        Raises AntechamberError if the submission cannot be read.
        """
        ...

    async def scopes(self) -> Holder:
        """Return whose token it is, and the scopes that it may submit to and read.

        Raises AntechamberError if that cannot be read.
        """
        ...

    async def answer(self, given: AnswerQuestion) -> NoteItem:
        """Answer a curator's question; the same arguments are the same note.

        Raises RequestRefusedError if the service refuses it, AntechamberError if it is unknown whether it arrived or if
        there is no such submission.
        """
        ...

    async def search(self, asked: SearchMemory) -> MemoryPage:
        """Return the best answers to a question, or the newest memories, of exactly the named scopes.

        Raises AntechamberError if a scope cannot be read.
        """
        ...


def _choices(kind: type[Struct], name: str) -> str:
    """Return the values that an argument may have, if they are listed."""
    types = (field.type for field in msgspec.structs.fields(kind) if field.name == name)
    return ", ".join(sorted(value for found in types for value in _literals(found)))


def _literals(kind: Any) -> Iterator[str]:
    """Yield the values of a `Literal`, also within a union or an annotation."""
    for part in get_args(kind):
        if isinstance(part, str):
            yield part
        else:
            yield from _literals(part)
