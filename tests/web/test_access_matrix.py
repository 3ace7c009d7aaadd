"""Every route and method against every kind of caller."""

import json

import pytest

from support import Service, event, methods_of

CALLERS = (
    "nobody",
    "expired",
    "revoked",
    "producer",
    "reader",
    "auditor token",
    "curator",
    "auditor",
    "operator",
)


def _row(*statuses: int) -> dict[str, int]:
    return dict(zip(CALLERS, statuses, strict=True))


PUBLIC = _row(*[200] * 9)
DIRECT_WRITE = _row(401, 401, 401, 403, 403, 403, 401, 401, 401)
OWN_SUBMISSION = _row(401, 401, 401, 200, 404, 404, 401, 401, 401)
DESK = _row(303, 303, 303, 303, 303, 303, 200, 200, 403)
FIGURES = _row(303, 303, 303, 303, 303, 303, 200, 200, 200)
OPERATIONS = _row(303, 303, 303, 303, 303, 303, 403, 403, 200)
CURATOR = _row(303, 303, 303, 303, 303, 303, 200, 403, 403)
HELP = _row(303, 303, 303, 200, 200, 200, 200, 200, 200)
AUDIT = _row(401, 401, 401, 403, 403, 200, 200, 200, 403)
FORM = _row(401, 401, 401, 401, 401, 401, 403, 403, 403)
"""A form without the session's own token."""

MATRIX: dict[tuple[str, str], dict[str, int]] = {
    ("POST", "/v1/submissions"): _row(401, 401, 401, 400, 403, 403, 401, 401, 401),
    ("POST", "/v1/submissions/batch"): _row(401, 401, 401, 200, 200, 200, 401, 401, 401),
    ("GET", "/v1/submissions/{submission_id}"): OWN_SUBMISSION,
    ("GET", "/v1/submissions/by-key/{idempotency_key}"): OWN_SUBMISSION,
    ("PUT", "/v1/submissions/by-key/{idempotency_key}/seal"): _row(401, 401, 401, 200, 403, 403, 401, 401, 401),
    ("POST", "/v1/submissions/{submission_id}/notes"): _row(401, 401, 401, 400, 403, 403, 401, 401, 401),
    ("GET", "/v1/token"): _row(401, 401, 401, 200, 200, 200, 401, 401, 401),
    ("POST", "/mcp"): _row(401, 401, 401, 400, 400, 400, 401, 401, 401),
    ("GET", "/v1/memories"): _row(401, 401, 401, 200, 200, 403, 401, 401, 401),
    ("GET", "/v1/changes"): _row(401, 401, 401, 200, 200, 403, 401, 401, 401),
    ("POST", "/v1/memories"): DIRECT_WRITE,
    ("PUT", "/v1/memories"): DIRECT_WRITE,
    ("PATCH", "/v1/memories"): DIRECT_WRITE,
    ("DELETE", "/v1/memories"): DIRECT_WRITE,
    ("GET", "/v1/memories/{rest}"): _row(401, 401, 401, 404, 404, 404, 401, 401, 401),
    ("POST", "/v1/memories/{rest}"): DIRECT_WRITE,
    ("PUT", "/v1/memories/{rest}"): DIRECT_WRITE,
    ("PATCH", "/v1/memories/{rest}"): DIRECT_WRITE,
    ("DELETE", "/v1/memories/{rest}"): DIRECT_WRITE,
    ("GET", "/v1/audit/review-records"): AUDIT,
    ("GET", "/v1/audit/review-records/{review_record_id}"): AUDIT,
    ("GET", "/v1/audit/dispositions"): AUDIT,
    ("GET", "/v1/audit/notes"): AUDIT,
    ("GET", "/v1/audit/export"): AUDIT,
    ("GET", "/v1/audit/package"): AUDIT,
    ("GET", "/v1/audit/checkpoint"): AUDIT,
    ("GET", "/v1/audit/key"): AUDIT,
    ("GET", "/v1/audit/proof/inclusion"): AUDIT,
    ("GET", "/v1/audit/proof/consistency"): AUDIT,
    ("GET", "/log/checkpoint"): AUDIT,
    ("GET", "/log/tile/{location}"): AUDIT,
    ("GET", "/audit/items/{proposal_id}"): DESK,
    ("GET", "/audit/leaves/{sequence}"): DESK,
    ("GET", "/audit/verify_export.py"): DESK,
    ("GET", "/review"): DESK,
    ("GET", "/review/changes"): DESK,
    ("GET", "/review/{proposal_id}"): DESK,
    ("GET", "/review/latest"): DESK,
    ("GET", "/policy"): FIGURES,
    ("GET", "/login/{provider}"): _row(*[401] * 9),
    ("GET", "/login/{provider}/callback"): _row(*[401] * 9),
    ("GET", "/review/group"): DESK,
    ("POST", "/review/group/{decision}"): FORM,
    ("POST", "/quarantine/group/{decision}"): FORM,
    ("POST", "/review/views"): FORM,
    ("POST", "/review/next"): FORM,
    ("POST", "/quarantine/{quarantine_id}/{decision}"): FORM,
    ("POST", "/quarantine/{quarantine_id}/reveal"): FORM,
    ("POST", "/quarantine/{quarantine_id}/release"): FORM,
    ("POST", "/quarantine/{quarantine_id}/destroy"): FORM,
    ("POST", "/quarantine/{quarantine_id}/clear"): FORM,
    ("POST", "/review/{proposal_id}/skip"): FORM,
    ("POST", "/review/{proposal_id}/seen"): FORM,
    ("POST", "/review/{proposal_id}/claim"): FORM,
    ("POST", "/review/{proposal_id}/note"): FORM,
    ("POST", "/review/{proposal_id}/question"): FORM,
    ("POST", "/review/{proposal_id}/assignment"): FORM,
    ("POST", "/review/{proposal_id}/{decision}"): FORM,
    ("GET", "/quarantine"): DESK,
    ("GET", "/submissions"): DESK,
    ("GET", "/quarantine/{quarantine_id}"): DESK,
    ("GET", "/memories"): DESK,
    ("GET", "/memories/{memory_id}"): DESK,
    ("POST", "/memories/{memory_id}/keep"): FORM,
    ("GET", "/audit"): DESK,
    ("GET", "/dashboard"): FIGURES,
    ("GET", "/policy/rehearsal"): OPERATIONS,
    ("POST", "/policy/rehearsal"): FORM,
    ("POST", "/policy/rehearsal/stop"): FORM,
    ("GET", "/operations"): OPERATIONS,
    ("POST", "/operations/{change}"): FORM,
    ("GET", "/schema"): FIGURES,
    ("GET", "/settings"): FIGURES,
    ("POST", "/settings"): FORM,
    ("POST", "/settings/password"): FORM,
    ("POST", "/settings/sessions"): FORM,
    ("GET", "/memories/propose"): CURATOR,
    ("POST", "/memories/propose"): FORM,
    ("GET", "/help"): HELP,
    ("GET", "/help/{chapter}"): HELP,
    ("GET", "/schema/openapi.json"): _row(401, 401, 401, 200, 200, 200, 200, 200, 200),
    ("GET", "/"): _row(*[303] * 9),
    ("GET", "/login"): PUBLIC,
    ("POST", "/login"): _row(*[400] * 9),
    ("POST", "/logout"): FORM,
    ("GET", "/metrics"): _row(401, 401, 401, 403, 403, 200, 403, 403, 200),
    ("GET", "/healthz"): PUBLIC,
    ("GET", "/readyz"): PUBLIC,
    ("HEAD", "/healthz"): PUBLIC,
    ("HEAD", "/readyz"): PUBLIC,
    ("GET", "/contract"): PUBLIC,
    ("GET", "/assets/{file_path}"): PUBLIC,
    ("HEAD", "/assets/{file_path}"): PUBLIC,
}


def _routes(service: Service) -> set[tuple[str, str]]:
    return {(method, route.path_format) for route in service.app.routes for method in methods_of(route)}


def _headers(service: Service, caller: str) -> dict[str, str]:
    """Return the headers of a column's caller: a fresh token, or the cookie of a signed-in person."""
    access = service.state.access
    match caller:
        case "nobody":
            return {}
        case "expired":
            secret = access.tokens.issue("worker:release-bot", "producer", [], 0)[1]
        case "revoked":
            token_id, secret = access.tokens.issue("worker:release-bot", "producer", [], None)
            assert access.tokens.revoke(token_id) == 1
        case "producer":
            secret = service.token()
        case "reader":
            secret = service.token("notebook", "reader", ("project:apollo",))
        case "auditor token":
            secret = service.token("auditing", "auditor")
        case _:
            cookies = service.sign_in(f"{caller}-1", caller).browser.cookies
            return {"cookie": f"antechamber={cookies['antechamber']}"}
    return {"authorization": f"Bearer {secret}"}


def _record(service: Service) -> str:
    """Return the id of a review record."""
    exported = service.client.get("/v1/audit/review-records", headers=service.bearer("reading", "auditor")).text
    found: str = json.loads(exported.splitlines()[0])["review_record_id"]
    return found


def _names(service: Service) -> dict[str, str]:
    """Create one of each item and return the path parameters that lead to them."""
    receipt = service.submit(event(idempotency_key="first")).json()
    service.sign_in().decide(receipt["proposal_id"], "approve")
    refused = service.submit(event("Another text under the same key.", idempotency_key="first")).json()
    return {
        "submission_id": receipt["submission_id"],
        "idempotency_key": "first",
        "proposal_id": receipt["proposal_id"],
        "quarantine_id": refused["quarantine_id"],
        "decision": "approve",
        "change": "issue-token",
        "memory_id": service.recall()[0]["memory_id"],
        "review_record_id": _record(service),
        "rest": "anything/below",
        "provider": "nothing",
        "file_path": "antechamber.css",
        "chapter": "desk",
        "sequence": "0",
        "location": "entries/000.p/1",
    }


QUERIES = {
    "/v1/changes": {"scope": "project:apollo", "wait": "30"},
    "/v1/memories": {"submission_scope": "project", "scope_id": "apollo"},
    "/v1/audit/proof/inclusion": {"sequence": "0"},
    "/v1/audit/proof/consistency": {"old_size": "1"},
}
"""Request bodies and parameters that routes require."""


def _ask(service: Service, method: str, path: str, names: dict[str, str], headers: dict[str, str]) -> int:
    query = QUERIES.get(path)
    sent = {"link": "no-such-link"} if path == "/login" and method == "POST" else None
    url = path.format(**names)
    service.state.stopping.set()  # streams end after their first message
    response = service.client.request(method, url, params=query, data=sent, headers=headers, follow_redirects=False)
    status: int = response.status_code
    return status


def test_every_route_has_a_row(service: Service) -> None:
    """Every route has a row in this table, and every row has a route."""
    registered = {(method, path) for method, path in _routes(service) if method != "OPTIONS"}
    assert registered == set(MATRIX)


@pytest.mark.parametrize("caller", CALLERS)
def test_each_caller_gets_the_status_of_the_table(service: Service, caller: str) -> None:
    """Each caller gets the status of its column on every route."""
    names, headers = _names(service), _headers(service, caller)
    answered = {index: _ask(service, *index, names, headers) for index in MATRIX}
    assert answered == {index: row[caller] for index, row in MATRIX.items()}


@pytest.mark.parametrize("caller", CALLERS)
def test_options_are_answered_with_methods_or_a_refusal(service: Service, caller: str) -> None:
    """OPTIONS is answered on every route, without a failure and without any content."""
    names, headers = _names(service), _headers(service, caller)
    paths = sorted(path for method, path in _routes(service) if method == "OPTIONS")
    answered = {path: _ask(service, "OPTIONS", path, names, headers) for path in paths}
    assert paths
    assert {path: status for path, status in answered.items() if status not in {204, 303, 401, 403}} == {}


def test_a_token_in_the_url_or_cookie_is_ignored(service: Service) -> None:
    """Tokens count in the Authorization header only."""
    token, query = service.token(), {"submission_scope": "project", "scope_id": "apollo"}
    asked = service.client.get("/v1/memories", params=query | {"access_token": token, "token": token})
    assert asked.status_code == 401
    assert (
        service.client.get("/v1/memories", params=query, headers={"cookie": f"antechamber={token}"}).status_code == 401
    )


@pytest.mark.parametrize("scheme", ["Basic", "Token", "", "Bearer Bearer"])
def test_another_authorization_scheme_is_no_token(service: Service, scheme: str) -> None:
    """Only the Bearer scheme is accepted, and the answer asks for it."""
    response = service.client.get("/v1/memories", headers={"authorization": f"{scheme} {service.token()}"})
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"


def test_a_missing_and_a_bad_token_are_answered_alike(service: Service) -> None:
    """The answer does not reveal whether a bad token was ever valid."""
    answers = []
    for caller in ("nobody", "expired", "revoked"):
        body = service.client.get("/v1/memories", headers=_headers(service, caller)).json()
        answers.append({name: value for name, value in body.items() if name != "received_at"})
    assert answers[0] == answers[1] == answers[2]
