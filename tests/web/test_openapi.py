"""The OpenAPI document agrees with the routes, the closed list of codes and real answers."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import jsonschema_rs
import msgspec
import pytest
from markupsafe import escape

from antechamber.core.contract import CODES
from antechamber.core.outcomes import OUTCOMES
from antechamber.settings import Location
from antechamber.web.contract_members import members
from antechamber.web.openapi import document
from support import MEMBERS, Service, event, methods_of, running, write_policies

METHODS = {"get", "put", "post", "delete", "patch", "head", "trace"}
TOKEN_LIKE = "gh" + "p_" + "a" * 36
NOWHERE = "00000000-0000-7000-8000-000000000000"


@pytest.fixture(scope="module")
def shared(lasting_place: Location) -> Iterator[Service]:
    """One service for all tests of the document."""
    with running(lasting_place, write_policies(lasting_place.data.parent / "policies")) as made:
        yield made


@pytest.fixture(scope="module")
def served(shared: Service) -> dict[str, Any]:
    """The document as a producer gets it."""
    response = shared.client.get("/schema/openapi.json", headers=shared.bearer())
    assert response.status_code == 200
    assert response.headers["content-type"].partition(";")[0] == "application/json"
    found: dict[str, Any] = response.json()
    return found


def walk(value: Any, location: str = "#") -> Iterator[tuple[str, Any]]:
    """Yield every object of a JSON value with its JSON pointer."""
    if isinstance(value, dict):
        yield location, value
        for name, member in value.items():
            yield from walk(member, f"{location}/{name.replace('~', '~0').replace('/', '~1')}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from walk(item, f"{location}/{index}")


def resolve(found: dict[str, Any], reference: str) -> Any:
    """Follow a reference inside the document."""
    value: Any = found
    for step in reference.removeprefix("#/").split("/"):
        value = value[step.replace("~1", "/").replace("~0", "~")]
    return value


def operations(found: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield path, method and operation."""
    for path, item in found["paths"].items():
        shared = item.get("parameters", [])
        for method in METHODS & item.keys():
            yield path, method, item[method] | {"parameters": [*shared, *item[method].get("parameters", [])]}


def examples(found: dict[str, Any]) -> Iterator[tuple[str, str, str, str, dict[str, Any], dict[str, Any]]]:
    """Yield path, method, status, code, value and media type of every example."""
    for path, method, operation in operations(found):
        for status, response in operation["responses"].items():
            for media in response.get("content", {}).values():
                for code, one in media.get("examples", {}).items():
                    yield path, method, status, code, one["value"], media


def errors(found: dict[str, Any], schema: dict[str, Any], value: Any) -> list[str]:
    """Validate a value against a schema of the document."""
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "components": found["components"], **schema}
    return [
        f"{error.instance_path}: {error.message}" for error in jsonschema_rs.validator_for(whole).iter_errors(value)
    ]


# The document itself


def test_the_document_needs_a_token_or_a_sign_in(shared: Service) -> None:
    """Producers, readers and signed-in people get the document; other callers do not."""
    path = "/schema/openapi.json"
    assert shared.client.get(path).status_code == 401
    assert shared.client.get(path, headers=shared.bearer("inspector", "auditor")).status_code == 200
    assert shared.sign_in().browser.get(path).json() == document()


def test_the_document_is_openapi_3_1(served: dict[str, Any]) -> None:
    """The document has what OpenAPI 3.1 requires, and every schema is valid JSON Schema 2020-12."""
    assert re.fullmatch(r"3\.1\.\d+", served["openapi"])
    assert served["info"]["title"]
    assert served["info"]["version"]
    schemes = served["components"]["securitySchemes"]
    for index, value in walk(served["components"]["schemas"]):
        if "/" not in index.removeprefix("#/"):
            jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema"} | value)
    names = [operation["operationId"] for _, _, operation in operations(served)]
    assert len(names) == len(set(names))
    for path, method, operation in operations(served):
        assert operation["summary"], (path, method)
        assert operation["responses"], (path, method)
        assert all(re.fullmatch("[1-5][0-9]{2}", status) for status in operation["responses"])
        assert all(response["description"] for response in operation["responses"].values())
        assert all(scheme in schemes for wanted in operation.get("security", []) for scheme in wanted)
        declared = {one["name"] for one in operation["parameters"] if one["in"] == "path"}
        assert declared == set(re.findall(r"{(\w+)}", path)), (path, method)
        assert all(one["required"] for one in operation["parameters"] if one["in"] == "path")


def test_every_reference_resolves(served: dict[str, Any]) -> None:
    """Every reference resolves, and no schema is unused."""
    references = {value["$ref"] for _, value in walk(served) if isinstance(value.get("$ref"), str)}
    assert references
    for reference in references:
        assert isinstance(resolve(served, reference), dict), reference
    assert references >= {f"#/components/schemas/{name}" for name in served["components"]["schemas"]}


def test_the_document_and_the_routes_agree(shared: Service, served: dict[str, Any]) -> None:
    """Every route for agents, auditors and mirrors is documented with every method, and no other route is."""
    registered = {
        (re.sub(r"{(\w+):\w+}", r"{}", route.path), method)
        for route in shared.app.routes
        if route.path.startswith(("/v1/", "/log/"))
        for method in methods_of(route) - {"OPTIONS"}
    }
    documented = {(re.sub(r"{\w+}", "{}", path), method.upper()) for path, method, _ in operations(served)}
    assert documented == registered


@pytest.mark.parametrize(
    ("path", "known", "stranger"),
    [
        ("/v1/submissions", 204, 401),
        (f"/v1/submissions/{NOWHERE}", 204, 401),
        ("/v1/memories", 204, 401),
        ("/v1/audit/review-records", 204, 204),
        ("/review", 303, 303),
        ("/contract", 204, 204),
    ],
)
def test_asking_for_the_methods_of_a_route_is_no_error(shared: Service, path: str, known: int, stranger: int) -> None:
    """OPTIONS is answered with the methods of the route, or with its refusal for callers without access."""
    answer = shared.client.options(path, headers=shared.bearer(), follow_redirects=False)
    assert answer.status_code == known
    assert shared.client.options(path, follow_redirects=False).status_code == stranger


# Codes


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_an_example(served: dict[str, Any], code: str) -> None:
    """Each code of the closed list has an example under its own status."""
    found = [(status, value) for _, _, status, name, value, _ in examples(served) if name == code]
    assert found, code
    assert str(OUTCOMES[code].status) in {status for status, _ in found}
    for _, value in found:
        assert value["reasons"][0]["code"] == code
        assert value["disposition"] in {OUTCOMES[code].disposition, None}


def test_every_example_is_a_true_answer(served: dict[str, Any]) -> None:
    """Each example has all members, matches its schema and contains the status that it is listed under."""
    for path, method, status, code, value, media in examples(served):
        location = (path, method, status, code)
        assert value.keys() >= MEMBERS, location
        assert errors(served, media["schema"], value) == [], location
        assert str(value["status"]) == status, location


def test_the_example_of_an_event_is_accepted(shared: Service, served: dict[str, Any]) -> None:
    """It has every member, fits its schema, and the service computes the same hash; durable alone is refused."""
    content = served["paths"][SUBMIT]["post"]["requestBody"]["content"]["application/json"]
    value = content["examples"]["event"]["value"]
    schemas = served["components"]["schemas"]
    assert value.keys() == schemas["SubmissionBody"]["properties"].keys()
    for name, part in (("payload", "Payload"), ("source_span", "SourceSpan")):
        assert value[name].keys() == schemas[part]["properties"].keys()
    assert errors(served, content["schema"], value) == []
    own = value | {
        "producer_identity": "worker:release-bot",
        "scope_id": "apollo",
        "observed_at": datetime.now(UTC).isoformat(),
    }
    answer = shared.submit(own)
    assert (answer.status_code, answer.json()["source_event_hash"]) == (201, value["source_event_hash"])
    assert shared.submit(own | {"durable": True}).json()["reasons"][0]["code"] == "direct-write"


def test_people_read_every_member(shared: Service) -> None:
    """The contract and the page of routes list each member of an event with type, limits, example and meaning."""
    desk = shared.sign_in()
    for path, name in (("/contract", "SubmissionBody"), ("/contract", "Receipt"), ("/schema", "SubmissionBody")):
        page = desk.browser.get(path).text.partition("Members of an answer" if name == "Receipt" else "<main")[2]
        for member in members(document()["components"]["schemas"], name):
            assert member.meaning, member.name
            row = page.partition(f"<td><code>{member.name}</code></td>")[2].partition("</tr>")[0]
            for cell in (member.kind, member.limits, member.example, member.meaning):
                assert str(escape(cell)) in row, (path, member.name)


def test_retry_after_is_documented_where_it_is_sent(served: dict[str, Any]) -> None:
    """Each answer that asks the client to wait documents its Retry-After header."""
    for path, method, operation in operations(served):
        for status in {"409", "429", "503"} & operation["responses"].keys():
            assert "Retry-After" in operation["responses"][status]["headers"], (path, method, status)


def test_every_read_documents_a_store_that_cannot_answer(served: dict[str, Any]) -> None:
    """Tokens are looked up in the store, so 503 can be the answer to each read."""
    reads = {path: row["get"]["responses"] for path, row in served["paths"].items() if "get" in row}
    assert len(reads) > 8
    assert [path for path, answers in reads.items() if "503" not in answers] == []


def test_location_is_documented_where_it_is_sent(served: dict[str, Any]) -> None:
    """The answer to a new submission documents its Location."""
    assert "Location" in served["paths"]["/v1/submissions"]["post"]["responses"]["201"]["headers"]


@pytest.mark.parametrize("name", ["Receipt", "Problem", "StoredReceipt"])
def test_no_member_may_be_absent(served: dict[str, Any], name: str) -> None:
    """The document requires all members of an answer: a missing value is null, never absent."""
    schema = served["components"]["schemas"][name]
    assert schema["properties"].keys() >= MEMBERS
    assert set(schema["required"]) >= MEMBERS
    assert set(served["components"]["schemas"]["Reason"]["required"]) == {"code", "message", "pointer"}


# Real answers


def submit(**members: Any) -> Callable[[Service], httpx.Response]:
    """Return a call that submits a fresh event."""
    return lambda service: service.submit(event(**members))


def twice(first: dict[str, Any], second: dict[str, Any]) -> Callable[[Service], httpx.Response]:
    """Return a call that submits two events and returns the second answer."""

    def call(service: Service) -> httpx.Response:
        body = event(**first)
        service.submit(body)
        return service.submit(body | second)

    return call


def get(path: str, *bearer: Any, **query: Any) -> Callable[[Service], httpx.Response]:
    """Return a call that reads."""
    return lambda service: service.client.get(path, params=query, headers=service.bearer(*bearer))


def written(method: str) -> Callable[[Service], httpx.Response]:
    """Return a call that writes a memory."""
    return lambda service: service.client.request(method, "/v1/memories", headers=service.bearer())


def sealed(key: str, *bearer: Any) -> Callable[[Service], httpx.Response]:
    """Return a call that seals a key."""
    return lambda service: service.client.put(f"/v1/submissions/by-key/{key}/seal", headers=service.bearer(*bearer))


def stored(content: str, decision: str | None = None, **members: Any) -> Callable[[Service], httpx.Response]:
    """Return a call that reads back a submission, decided if requested."""

    def call(service: Service) -> httpx.Response:
        receipt = service.submit(event(content, **members)).json()
        if decision:
            service.sign_in().decide(receipt["proposal_id"], decision, reason_code="wrong")
        return service.client.get(f"/v1/submissions/{receipt['submission_id']}", headers=service.bearer())

    return call


def too_large(path: str) -> Callable[[Service], httpx.Response]:
    """Return a call that sends too large a body."""
    return lambda service: service.client.post(path, content=b" " * (4 * 1024 * 1024 + 1), headers=service.bearer())


def nobody(method: str, path: str) -> Callable[[Service], httpx.Response]:
    """Return a call without a token."""
    return lambda service: service.client.request(method, path)


SUBMIT, BATCH, MEMORIES = "/v1/submissions", "/v1/submissions/batch", "/v1/memories"
BY_ID, BY_KEY = "/v1/submissions/{submission_id}", "/v1/submissions/by-key/{idempotency_key}"
SEAL, AUDIT = BY_KEY + "/seal", "/v1/audit/review-records"
APOLLO = {"submission_scope": "project", "scope_id": "apollo"}
INCLUSION, CONSISTENCY = "/v1/audit/proof/inclusion", "/v1/audit/proof/consistency"
REAL: dict[str, tuple[str, str, int, Callable[[Service], httpx.Response]]] = {
    "accepted": (SUBMIT, "post", 201, submit(content="New.")),
    "replayed": (SUBMIT, "post", 201, twice({"content": "Again."}, {})),
    "duplicate": (SUBMIT, "post", 200, twice({"content": "Twice."}, {"idempotency_key": "another"})),
    "conflict": (SUBMIT, "post", 422, twice({"content": "First."}, {"scope_id": "gemini"})),
    "private": (SUBMIT, "post", 422, submit(content=f"Sign in with {TOKEN_LIKE}.")),
    "declared private": (SUBMIT, "post", 422, submit(visibility="private")),
    "stale": (SUBMIT, "post", 422, submit(observed_at="2020-01-01T00:00:00Z")),
    "malformed": (SUBMIT, "post", 400, lambda service: service.submit(b"{")),
    "durable": (SUBMIT, "post", 403, submit(durable=True)),
    "not listed": (SUBMIT, "post", 403, submit(producer_identity="worker:stranger")),
    "no token": (SUBMIT, "post", 401, nobody("POST", SUBMIT)),
    "too large": (SUBMIT, "post", 413, too_large(SUBMIT)),
    "batch": (BATCH, "post", 200, lambda service: service.client.post(BATCH, content=b"{", headers=service.bearer())),
    "batch without token": (BATCH, "post", 401, nobody("POST", BATCH)),
    "large batch": (BATCH, "post", 413, too_large(BATCH)),
    "pending": (BY_ID, "get", 200, stored("Pending.")),
    "approved": (BY_ID, "get", 200, stored("Approved.", "approve")),
    "rejected": (BY_ID, "get", 200, stored("Rejected.", "reject")),
    "refused": (BY_ID, "get", 200, stored("Refused.", scope_id="gemini")),
    "kept private": (BY_ID, "get", 200, stored("Private.", visibility="private")),
    "unknown id": (BY_ID, "get", 404, get(f"/v1/submissions/{NOWHERE}")),
    "id without token": (BY_ID, "get", 401, nobody("GET", f"/v1/submissions/{NOWHERE}")),
    "unknown key": (BY_KEY, "get", 404, get("/v1/submissions/by-key/unknown")),
    "key without token": (BY_KEY, "get", 401, nobody("GET", "/v1/submissions/by-key/unknown")),
    "sealed": (SEAL, "put", 201, sealed("sealed-1")),
    "sealed twice": (SEAL, "put", 200, lambda service: [sealed("sealed-2")(service) for _ in range(2)][1]),
    "sealed bad key": (SEAL, "put", 400, sealed(".bad")),
    "sealed by a reader": (SEAL, "put", 403, sealed("sealed-3", "lookout", "reader", ("project:apollo",))),
    "sealed by nobody": (SEAL, "put", 401, nobody("PUT", "/v1/submissions/by-key/sealed-4/seal")),
    "memories": (MEMORIES, "get", 200, get(MEMORIES, **APOLLO)),
    "token": ("/v1/token", "get", 200, get("/v1/token")),
    "token of nobody": ("/v1/token", "get", 401, nobody("GET", "/v1/token")),
    "no scope": (MEMORIES, "get", 400, get(MEMORIES)),
    "denied": (MEMORIES, "get", 403, get(MEMORIES, submission_scope="project", scope_id="gemini")),
    "memories for nobody": (MEMORIES, "get", 401, nobody("GET", MEMORIES)),
    **{f"{method} memory": (MEMORIES, method, 403, written(method)) for method in ("post", "put", "patch", "delete")},
    "export": (AUDIT, "get", 200, get(AUDIT, "inspector", "auditor")),
    "export as CSV": (AUDIT, "get", 200, get(AUDIT, "inspector", "auditor", format="csv")),
    "dispositions": ("/v1/audit/dispositions", "get", 200, get("/v1/audit/dispositions", "inspector", "auditor")),
    "log": ("/v1/audit/export", "get", 200, get("/v1/audit/export", "inspector", "auditor")),
    "package": ("/v1/audit/package", "get", 200, get("/v1/audit/package", "inspector", "auditor")),
    "checkpoint": ("/v1/audit/checkpoint", "get", 200, get("/v1/audit/checkpoint", "inspector", "auditor")),
    "key": ("/v1/audit/key", "get", 200, get("/v1/audit/key", "inspector", "auditor")),
    "included": (INCLUSION, "get", 200, get(INCLUSION, "inspector", "auditor", sequence="0")),
    "not included": (INCLUSION, "get", 404, get(INCLUSION, "inspector", "auditor", sequence="999999")),
    "no leaf named": (INCLUSION, "get", 400, get(INCLUSION, "inspector", "auditor")),
    "consistent": (CONSISTENCY, "get", 200, get(CONSISTENCY, "inspector", "auditor", old_size="1")),
    "no such record": (f"{AUDIT}/{{review_record_id}}", "get", 404, get(f"{AUDIT}/{NOWHERE}", "inspector", "auditor")),
    "bad export": (AUDIT, "get", 400, get(AUDIT, "inspector", "auditor", format="xml")),
    "export denied": (AUDIT, "get", 403, get(AUDIT)),
    "export for nobody": (AUDIT, "get", 401, nobody("GET", AUDIT)),
}


@pytest.mark.parametrize("name", REAL)
def test_a_real_answer_is_as_documented(shared: Service, served: dict[str, Any], name: str) -> None:
    """Status, content type, members and headers of a real answer match the document."""
    path, method, status, call = REAL[name]
    response = call(shared)
    assert response.status_code == status
    documented = served["paths"][path][method]["responses"][str(status)]
    media_type = response.headers["content-type"].partition(";")[0]
    assert media_type in documented["content"]
    ours = {"submission-disposition", "idempotency-key", "idempotent-replayed", "location", "retry-after"}
    assert ours & response.headers.keys() <= {header.lower() for header in documented.get("headers", {})}
    schema = documented["content"][media_type]["schema"]
    value = response.json() if media_type.endswith("json") and "ndjson" not in media_type else response.text
    assert errors(served, schema, value) == []
    if schema.get("$ref"):
        declared = resolve(served, schema["$ref"])["properties"]
        assert set(value) <= set(declared)
    if status >= 400 and status != 404:
        shown = documented["content"][media_type]["examples"][value["reasons"][0]["code"]]["value"]
        told = ("status", "disposition", "retry_same_key", "safe_new_key", "type", "title")
        assert {member: shown[member] for member in told} == {member: value[member] for member in told}


def test_a_good_body_fits_the_documented_schema(shared: Service, served: dict[str, Any]) -> None:
    """A body that the service accepts matches the document, and a misspelled one does not."""
    schema = served["paths"][SUBMIT]["post"]["requestBody"]["content"]["application/json"]["schema"]
    body = json.loads(msgspec.json.encode(event(observed_at="2026-11-20T10:00:00Z", visibility="shareable")))
    assert errors(served, schema, body) == []
    # The normal form of these lists has each member once, so a body may name one twice.
    twice = {"derived_from": ["m-1", "m-1"], "payload": body["payload"] | {"tags": ["deploy", "deploy"]}}
    repeated = json.loads(msgspec.json.encode(event(**twice)))
    assert shared.submit(repeated).status_code == 201
    assert errors(served, schema, repeated) == []
    for wrong in ({"surprise": 1}, {"submission_scope": "galaxy"}, {"payload": {"kind": "fact"}}, {"scope_id": "a b"}):
        assert errors(served, schema, body | wrong) != []
