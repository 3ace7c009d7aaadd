"""Routes for auditors: exports, checkpoints, keys and proofs, which can be verified without this service."""

import base64
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, get_args

import msgspec
from litestar import Request, Response, get
from litestar.di import NamedDependency
from litestar.params import FromPath
from litestar.response import Stream

from antechamber.core.access.callers import Bearer, Caller
from antechamber.core.contract import CODES, REASON_CODES, SCOPES, Disposition
from antechamber.core.errors import NotFoundError, read_all, refuse
from antechamber.core.log.rows import Format
from antechamber.core.policy import covers
from antechamber.core.review.decision import DECISIONS, SETTLEMENTS
from antechamber.core.rows.notes import NoteFilter
from antechamber.core.rows.review import AuditFilter
from antechamber.core.rows.submissions import SubmissionFilter
from antechamber.core.times import parse_time
from antechamber.flows.audit_package import export_package
from antechamber.flows.checkpoint_signing import Checkpoints
from antechamber.flows.export import MEDIA_TYPES, Export, Exporter
from antechamber.flows.log_proofs import LogProofs
from antechamber.resources import verifier
from antechamber.web.auth import needs_auditor
from antechamber.web.pages import NO_STORE
from antechamber.web.query_parameters import check_names

AuditRequest = Request[Caller, Any, Any]
DISPOSITIONS: Final[tuple[Disposition, ...]] = get_args(Disposition)
CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "reason_code": REASON_CODES,
    "submission_scope": SCOPES,
    "decision": (*DECISIONS, *SETTLEMENTS),
}
_ANY: Final = "any"
"""Value that a form sends for all dispositions."""
_DIGITS: Final = 18
_PLAIN: Final = "text/plain"


def _time(name: str, text: str) -> int:
    """Parse an RFC 3339 time, or a date as browsers send it, which means its first moment in UTC."""
    whole = f"{text}T00:00:00Z" if len(text) == len("2026-11-20") else text.replace(" ", "+")
    try:
        return parse_time(whole)
    except ValueError:
        raise refuse("malformed", f"{name} must be an RFC 3339 time or a date", f"/{name}") from None


def read_filter(query: Any) -> AuditFilter:
    """Parse the filters of an export; an empty value means no filter.

    Raises RequestRefusedError (`malformed`).
    """
    return AuditFilter(**_values(query, AuditFilter.__struct_fields__, CHOICES))


def read_submission_filter(query: Any) -> SubmissionFilter:
    """Parse the filters of a list of submissions; an empty value means no filter.

    Raises RequestRefusedError (`malformed`).
    """
    choices = {"disposition": (*DISPOSITIONS, _ANY), "submission_scope": SCOPES, "reason_code": CODES}
    values = _values(query, SubmissionFilter.__struct_fields__, choices)
    return SubmissionFilter(**values | {"disposition": None} if values["disposition"] == _ANY else values)


def _read_note_filter(query: Any) -> NoteFilter:
    return NoteFilter(**_values(query, NoteFilter.__struct_fields__, {"submission_scope": SCOPES}))


def _wanted(request: AuditRequest, read: Callable[[Any], Any], names: tuple[str, ...]) -> tuple[Any, Format]:
    """Return filter and format of an export.

    Raises RequestRefusedError (`malformed`) with everything that is wrong.
    """
    query = request.query_params
    named = partial(check_names, query, "format", *names)
    _, given, wanted = read_all(named, partial(_format, request), partial(read, query))
    return wanted, given


def _values(query: Any, names: tuple[str, ...], choices: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    values = read_all(*(partial(_value, name, query.get(name), choices.get(name)) for name in names))
    return dict(zip(names, values, strict=True))


def _value(name: str, text: str | None, choices: tuple[str, ...] | None) -> Any:
    value = (text or "").replace("\0", "") or None
    if value is not None and name in {"since", "until"}:
        return _time(name, value)
    if value is not None and choices is not None and value not in choices:
        raise refuse("malformed", f"{name} must be one of " + ", ".join(choices), f"/{name}")
    return value


def _format(request: AuditRequest) -> Format:
    form = request.query_params.get("format", "jsonl")
    if form not in MEDIA_TYPES:
        raise refuse("malformed", "format must be jsonl or csv", "/format")
    return "jsonl" if form == "jsonl" else "csv"


def _taker(request: AuditRequest) -> Exporter:
    """Return the caller as the log records it; only a token can be limited to some scopes."""
    caller = request.user
    return Exporter(caller.name, caller.role, (caller.read or None) if isinstance(caller, Bearer) else None)


def _number(request: AuditRequest, name: str) -> int | None:
    """Parse a number of leaves; return None if the parameter is missing.

    Raises RequestRefusedError (`malformed`).
    """
    text = request.query_params.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise refuse("malformed", f"{name} must be a number of leaves, from 0", f"/{name}")
    return int(text)


def _only_number(request: AuditRequest, name: str, *others: str) -> int | None:
    """Parse a number of leaves on a route with these parameters; see check_names and _number."""
    _, number = read_all(partial(check_names, request.query_params, name, *others), partial(_number, request, name))
    return None if number is None else int(number)


def _stream(chunks: Iterator[bytes], name: str, form: Format) -> Stream:
    headers = NO_STORE | {"content-disposition": f'attachment; filename="{name}.{form}"'}
    return Stream(chunks, media_type=MEDIA_TYPES[form], headers=headers)


@get("/v1/audit/review-records", guards=[needs_auditor], sync_to_thread=True)
def export_review_records(request: AuditRequest, export: NamedDependency[Export]) -> Stream:
    """Export the review records covered by a new checkpoint, which ends the export, as JSONL or CSV."""
    wanted, form = _wanted(request, read_filter, AuditFilter.__struct_fields__)
    return _stream(export.review_records(wanted, form, _taker(request)), "review-records", form)


@get("/v1/audit/review-records/{review_record_id:str}", guards=[needs_auditor], sync_to_thread=True)
def review_record(
    review_record_id: FromPath[str], request: AuditRequest, export: NamedDependency[Export]
) -> Response[dict[str, Any]]:
    """Return one review record with its tlog-proof."""
    return Response(export.record(review_record_id, _taker(request).grants), headers=NO_STORE)


@get("/v1/audit/dispositions", guards=[needs_auditor], sync_to_thread=True)
def export_dispositions(request: AuditRequest, export: NamedDependency[Export]) -> Stream:
    """Export the stored dispositions covered by a new checkpoint, which ends the export, as JSONL or CSV."""
    wanted, form = _wanted(request, read_submission_filter, SubmissionFilter.__struct_fields__)
    return _stream(export.dispositions(wanted, form, _taker(request)), "dispositions", form)


@get("/v1/audit/notes", guards=[needs_auditor], sync_to_thread=True)
def export_notes(request: AuditRequest, export: NamedDependency[Export]) -> Stream:
    """Export notes, questions, answers and assignments as the other records, as JSONL or CSV."""
    wanted, form = _wanted(request, _read_note_filter, NoteFilter.__struct_fields__)
    return _stream(export.notes(wanted, form, _taker(request)), "notes", form)


@get("/v1/audit/export", guards=[needs_auditor], sync_to_thread=True)
def export_log(request: AuditRequest, export: NamedDependency[Export]) -> Stream:
    """Export every leaf of the log, followed by its checkpoint."""
    check_names(request.query_params)
    return _stream(export.log(_taker(request)), "log", "jsonl")


@get("/v1/audit/package", guards=[needs_auditor], sync_to_thread=True)
def audit_package(request: AuditRequest, export: NamedDependency[Export], proofs: NamedDependency[LogProofs]) -> Stream:
    """Export the whole log in one archive, with its checkpoint, the key, the verifier and a README."""
    check_names(request.query_params)
    headers = NO_STORE | {"content-disposition": 'attachment; filename="antechamber-audit.zip"'}
    chunks = export_package(export, proofs, verifier().read_bytes(), _taker(request))
    return Stream(chunks, media_type="application/zip", headers=headers)


@get("/v1/audit/checkpoint", guards=[needs_auditor], sync_to_thread=True)
def checkpoint(
    request: AuditRequest, checkpoints: NamedDependency[Checkpoints], proofs: NamedDependency[LogProofs]
) -> Response[str]:
    """Return a signed checkpoint of all changes, or an earlier one by its size."""
    size = _only_number(request, "size")
    signed = checkpoints.checkpoint() if size is None else proofs.published_checkpoint(size)
    name = "checkpoint" if size is None else f"checkpoint-{size}"
    headers = NO_STORE | {"content-disposition": f'inline; filename="{name}.txt"'}
    return Response(signed.note, media_type=_PLAIN, headers=headers)


@get("/v1/audit/key", guards=[needs_auditor], sync_to_thread=True)
def key(proofs: NamedDependency[LogProofs]) -> Response[str]:
    """Return the verifier keys, one per line, the current one first."""
    return Response(
        "".join(f"{verifier_key}\n" for verifier_key in proofs.verifier_keys()), media_type=_PLAIN, headers=NO_STORE
    )


@get("/v1/audit/proof/inclusion", guards=[needs_auditor], sync_to_thread=True)
def inclusion(request: AuditRequest, proofs: NamedDependency[LogProofs]) -> Response[dict[str, Any]]:
    """Return the proof that the log contains a leaf, given its sequence or the id of its subject."""
    sequence = _only_number(request, "sequence", "subject")
    subject = request.query_params.get("subject")
    if (sequence is None) == (subject is None):
        raise refuse("malformed", "name the leaf, by sequence or by subject", "/sequence")
    included = proofs.prove_inclusion(proofs.sequence_of(subject or "").sequence if sequence is None else sequence)
    leaf = msgspec.json.decode(included.leaf)
    grants = _taker(request).grants
    if grants is not None and not covers(grants, *proofs.scope_of(included.sequence)):
        # The same message as for a missing leaf: this caller must not learn that it exists.
        message = "The log has no leaf about that." if sequence is None else f"The log has no leaf {sequence}."
        raise NotFoundError(message)
    return Response({"sequence": included.sequence, "leaf": leaf, "proof": included.proof}, headers=NO_STORE)


@get("/v1/audit/proof/consistency", guards=[needs_auditor], sync_to_thread=True)
def consistency(request: AuditRequest, proofs: NamedDependency[LogProofs]) -> Response[dict[str, Any]]:
    """Return the proof that the log at an earlier size is a prefix of the current log."""
    old = _only_number(request, "old_size")
    if old is None:
        raise refuse("malformed", "name the size of the earlier checkpoint", "/old_size")
    if old == 0:
        raise refuse("malformed", "old_size must be at least 1: a log of 0 leaves is the beginning of any", "/old_size")
    proven = proofs.prove_consistency(old)
    path = [base64.b64encode(sibling).decode() for sibling in proven.path]
    members = {"old_size": old, "size": proven.checkpoint.size, "proof": path, "checkpoint": proven.checkpoint.note}
    return Response(members, headers=NO_STORE)


ROUTES: Final = (
    export_review_records, review_record, export_dispositions, export_notes, export_log, audit_package, checkpoint, key,
    inclusion, consistency,
)  # fmt: skip
