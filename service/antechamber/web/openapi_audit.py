"""Routes of the OpenAPI document for auditors and for mirrors of the log."""

from typing import Any, Final, get_args

from antechamber.core.contract import CODES, REASON_CODES, SCOPES, Disposition
from antechamber.core.review.decision import DECISIONS, SETTLEMENTS
from antechamber.web.openapi_parts import NDJSON, json_body, plain_problem, query, reading_problems

_SECURITY: Final[dict[str, Any]] = {"security": [{"token": []}, {"sign_in": []}]}
_ALSO_PUBLIC: Final[dict[str, Any]] = {"security": [{}, {"token": []}, {"sign_in": []}]}


def audit() -> dict[str, Any]:
    """Return the routes for auditors; each accepts a token or a session."""
    lines = {name: {"schema": {"type": "string"}} for name in (NDJSON, "text/csv")}
    closed = {"200": {"description": "The records, closed by one with their count", "content": lines}}
    plain, binary = {"text/plain": {"schema": {"type": "string"}}}, {"schema": {"type": "string", "format": "binary"}}
    record_id = {"name": "review_record_id", "in": "path", "required": True, "schema": {"type": "string"}}
    proof = _members(sequence="integer", leaf="object", proof="string")
    path = _members(old_size="integer", size="integer", proof="array", checkpoint="string")
    gone = {"404": plain_problem("Nothing by that name that is yours to see")}
    size: dict[str, Any] = {"type": "integer", "minimum": 0}
    return {
        f"/v1/audit/{name}": {"get": _SECURITY | operation}
        for name, operation in (
            ("review-records", _reading("exportReviewRecords", "Export review records", closed, _decided_parameters())),
            ("review-records/{review_record_id}", _reading(
                "readReviewRecord", "Read one review record with its tlog-proof",
                {"200": {"description": "The record", "content": json_body({"type": "object"})}} | gone, [record_id],
            )),
            ("dispositions", _reading("exportDispositions", "Export stored answers", closed, _received_parameters())),
            ("notes", _reading("exportNotes", "Export notes, answers and assignments", closed, _filters("Written"))),
            ("export", _reading(
                "exportLog", "Export every leaf of the log",
                {"200": {"description": "All leaves, and their checkpoint", "content": {NDJSON: lines[NDJSON]}}},
                [],
            )),
            ("package", _reading(
                "exportPackage", "Export the whole log with its checkpoint, the key, the verifier and a README",
                {"200": {"description": "A ZIP archive", "content": {"application/zip": binary}}}, [],
            )),
            ("checkpoint", _reading(
                "readCheckpoint", "Read a signed checkpoint (c2sp.org/tlog-checkpoint)",
                {"200": {"description": "A signed note", "content": plain}} | gone,
                [query("size", "An earlier one, by its number of leaves", **size)],
            )),
            ("key", _reading(
                "readVerifierKey", "Read the verifier keys, the one in use first",
                {"200": {"description": "One key a line", "content": plain}}, [],
            )),
            ("proof/inclusion", _reading(
                "proveInclusion", "Prove that a leaf is in the log",
                {"200": {"description": "The leaf and its tlog-proof", "content": json_body(proof)}} | gone,
                [query("sequence", "Its place, from 0", **size), query("subject", "Or the id of what it is about")],
            )),
            ("proof/consistency", _reading(
                "proveConsistency", "Prove that an earlier log is the beginning of this one",
                {"200": {"description": "The proof (RFC 6962 section 2.1.2)", "content": json_body(path)}} | gone,
                [query("old_size", "Leaves of the earlier checkpoint", required=True, type="integer", minimum=1)],
            )),
        )
    }  # fmt: skip


def log() -> dict[str, Any]:
    """Return the routes of the log as tiles (c2sp.org/tlog-tiles); without a token if the policy makes it public."""
    location = {
        "name": "location",
        "in": "path",
        "required": True,
        "schema": {"type": "string"},
        "description": "Level and index of a tile, as in `0/x001/067`, or `entries/` and the index of a bundle; the "
        "last one, which is not full, ends with `.p/` and its width. The slashes are not escaped.",
    }
    gone = {"404": plain_problem("No checkpoint covers it")}
    note = {"text/plain": {"schema": {"type": "string"}}}
    tile = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    return {
        path: {"get": _ALSO_PUBLIC | operation}
        for path, operation in (
            ("/log/checkpoint", _reading(
                "readLogCheckpoint", "Read the last checkpoint with the cosignatures of witnesses",
                {"200": {"description": "A signed note (c2sp.org/tlog-checkpoint)", "content": note}} | gone, [],
            )),
            ("/log/tile/{location}", _reading(
                "readLogTile", "Read a tile of hashes, or a bundle of entries",
                {"200": {"description": "Hashes of 32 bytes, or entries after their lengths", "content": tile}} | gone,
                [location],
            )),
        )
    }  # fmt: skip


def _reading(name: str, summary: str, answers: dict[str, Any], parameters: list[Any]) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "parameters": parameters,
        "responses": answers | reading_problems(),
    }


def _members(**kinds: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in kinds.items()},
        "required": list(kinds),
    }


def _filters(verb: str) -> list[dict[str, Any]]:
    return [
        query("format", "How; only JSONL can be verified", enum=["jsonl", "csv"], default="jsonl"),
        query("since", f"{verb} at or after this RFC 3339 time"),
        query("until", f"{verb} before this RFC 3339 time"),
        query("submission_scope", "The scope", enum=list(SCOPES)),
        query("scope_id", "Its id"),
        query("producer_identity", "The producer"),
    ]


def _decided_parameters() -> list[dict[str, Any]]:
    return [
        *_filters("Decided"),
        query("decision", "The decision", enum=[*DECISIONS, *SETTLEMENTS]),
        query("curator", "Account that decided"),
        query("reason_code", "The reason", enum=list(REASON_CODES)),
    ]


def _received_parameters() -> list[dict[str, Any]]:
    return [
        *_filters("Received"),
        query("disposition", "The disposition", enum=[*get_args(Disposition), "any"]),
        query("reason_code", "The first code of the receipt", enum=list(CODES)),
    ]
