"""Generated requests against a real server get only documented answers."""

import contextlib
import copy
import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import hypothesis
import pytest
import schemathesis
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from antechamber import app
from antechamber.core.errors import RequestRefusedError
from antechamber.core.outgoing import hash_event
from antechamber.settings import Location
from antechamber.web.openapi import document
from support import serving, write_policies

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
GENTLY = hypothesis.settings(max_examples=30, derandomize=True, deadline=None, database=None)
# Tests change bodies, which may be examples of the document.
described = schemathesis.openapi.from_dict(copy.deepcopy(document()))


@schemathesis.serializer("application/x-ndjson")
def write_lines(_ctx: Any, value: Any) -> bytes:
    """Send generated text unchanged, and any other value as one line of JSON."""
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode(errors="surrogatepass")


@pytest.fixture(scope="module")
def served(lasting_place: Location) -> Iterator[tuple[str, dict[str, str]]]:
    """The address of a real server and a producer's header."""
    with serving(lasting_place, write_policies(lasting_place.data.parent / "policies")) as (url, _):
        with app.opened_access(lasting_place) as access:
            secret = access.tokens.issue("worker:release-bot", "producer", [], None)[1]
        yield url, {"authorization": f"Bearer {secret}"}


@described.parametrize()
@GENTLY
def test_every_answer_is_a_documented_one(served: tuple[str, dict[str, str]], case: schemathesis.Case) -> None:
    """Whatever is sent, status, content type and body of the answer are documented, and the server does not fail."""
    url, headers = served
    case.call_and_validate(base_url=url, headers=headers, checks=CHECKS)


def ambiguous() -> Iterator[tuple[str, str, str]]:
    """Yield the method and path of each templated operation, and an address that another path matches as well."""
    paths = document()["paths"]
    for path, other in itertools.permutations(paths, 2):
        pairs = list(itertools.zip_longest(path.split("/"), other.split("/"), fillvalue=""))
        segments = [theirs if own.startswith("{") else own for own, theirs in pairs]
        matched = all(own == theirs or (own and theirs and "{" in own + theirs) for own, theirs in pairs)
        if matched and "/".join(segments) != path:
            address = re.sub(r"{\w+}", "some", "/".join(segments))
            yield from ((method, path, address) for method in paths[path].keys() - {"parameters"})


@pytest.mark.parametrize(("method", "path", "address"), sorted(ambiguous()))
def test_an_id_that_names_another_address_gets_a_documented_answer(
    served: tuple[str, dict[str, str]], method: str, path: str, address: str
) -> None:
    """A client that inserts such an id into a template gets an answer that the operation documents."""
    url, headers = served
    answer = httpx.request(method, url + address, headers=headers, json={} if method == "post" else None)
    documented = document()["paths"][path][method]["responses"][str(answer.status_code)]
    assert answer.headers["content-type"] in documented["content"]
    sent = [name for name in documented.get("headers", {}) if name.lower() in answer.headers]
    assert ("Allow" in sent) is (answer.status_code == 405)


@described.include(operation_id="submit").parametrize()
@GENTLY
def test_every_answer_to_a_hashed_event_is_documented(
    served: tuple[str, dict[str, str]], case: schemathesis.Case
) -> None:
    """Generated events with valid producer, scope and hash pass the first checks, and get documented answers."""
    url, headers = served
    case.headers.pop("Idempotency-Key", None)
    if isinstance(case.body, dict):
        case.body |= {"producer_identity": "worker:release-bot", "submission_scope": "project", "scope_id": "apollo"}
        for name in ("observed_at", "durable"):
            case.body.pop(name, None)
        case.body.setdefault("idempotency_key", "generated")
        if isinstance(case.body.get("payload"), dict):
            case.body["payload"]["kind"] = "fact"
        with contextlib.suppress(RequestRefusedError):
            case.body["source_event_hash"] = hash_event(case.body)
    case.call_and_validate(base_url=url, headers=headers, checks=CHECKS)
