"""Headers that every answer carries, whatever its kind."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from litestar.testing import TestClient

from antechamber.app.factory import create_app
from antechamber.settings import Settings
from support import URL, Service, event

ALWAYS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
POLICY = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
}


def _answers(service: Service) -> dict[str, httpx.Response]:
    """Collect one answer of every kind."""
    accepted = service.submit(event())
    desk = service.sign_in()
    proposal = accepted.json()["proposal_id"]
    client, agent, auditor = service.client, service.bearer(), service.bearer("auditing", "auditor")
    return {
        "receipt": accepted,
        "problem": service.submit(b"{"),
        "batch": client.post("/v1/submissions/batch", content=b"{}", headers=agent),
        "too large": service.submit(b" " * 70_000),
        "unauthorized": client.get("/v1/memories"),
        "memories": client.get("/v1/memories?submission_scope=project&scope_id=apollo", headers=agent),
        "export": client.get("/v1/audit/review-records", headers=auditor),
        "page": desk.browser.get("/review"),
        "proposal": desk.browser.get(f"/review/{proposal}"),
        "stale page": desk.decide(proposal, "approve", version="9"),
        "forbidden page": service.sign_in("olga", "operator").browser.get("/review"),
        "redirect": client.get("/", follow_redirects=False),
        "decision": desk.decide(proposal, "approve"),
        "login": client.get("/login"),
        "signed out": client.post(f"/review/{proposal}/edit", data={"content": "x"}),
        "unknown page": client.get("/nothing"),
        "unknown route": client.get("/v1/nothing"),
        "wrong method": client.delete("/login"),
        "foreign host": client.get("/login", headers={"host": "evil.example"}),
        "style sheet": client.get("/assets/antechamber.css"),
        "missing file": client.get("/assets/nothing.css"),
        "health": client.get("/healthz"),
        "readiness": client.get("/readyz"),
        "contract": client.get("/contract"),
        "document": client.get("/schema/openapi.json", headers=agent),
        "options": client.options("/login"),
    }


def _policy(response: httpx.Response) -> set[str]:
    return {part.strip() for part in response.headers.get("content-security-policy", "").split(";")}


def test_every_kind_of_answer_has_the_security_headers(service: Service) -> None:
    """Pages, JSON, streams, files, redirects and errors carry the same security headers, each once."""
    for name, response in _answers(service).items():
        assert (name, {key: response.headers.get(key) for key in ALWAYS}) == (name, ALWAYS)
        assert (name, _policy(response)) == (name, POLICY)
        assert "strict-transport-security" not in response.headers
        assert {"server", "x-powered-by"} & set(response.headers) == set()


def test_an_unexpected_error_has_the_headers_and_no_details(service: Service) -> None:
    """An unexpected error is answered with the same headers and without a traceback."""
    del service.app.state["alarms"]
    desk = service.sign_in()
    response = desk.browser.get("/review")
    assert response.status_code == 500
    assert {key: response.headers.get(key) for key in ALWAYS} == ALWAYS
    assert "The service failed unexpectedly" in response.text
    assert "alarms" not in response.text
    assert "Traceback" not in response.text


def test_what_is_private_is_never_cached(service: Service) -> None:
    """Answers with contents, receipts, forms or typed text are sent with no-store."""
    names = (
        "receipt",
        "problem",
        "batch",
        "memories",
        "export",
        "page",
        "proposal",
        "stale page",
        "login",
        "signed out",
    )
    answers = _answers(service)
    assert {name: answers[name].headers.get("cache-control") for name in names} == dict.fromkeys(names, "no-store")


def test_answers_name_their_media_type(service: Service) -> None:
    """Every answer with a body names its media type; programs get problem details and people get pages."""
    answers = _answers(service)
    for name in ("problem", "unauthorized", "too large", "unknown route"):
        assert answers[name].headers["content-type"].startswith("application/problem+json")
    for name in ("page", "stale page", "forbidden page", "unknown page", "wrong method", "foreign host", "signed out"):
        assert answers[name].headers["content-type"] == "text/html; charset=utf-8"
    assert answers["style sheet"].headers["content-type"].startswith("text/css")


def test_a_wrong_method_names_the_right_ones(service: Service) -> None:
    """405 comes with Allow, which the text for programs repeats."""
    problem = service.client.get("/v1/submissions", headers=service.bearer()).json()
    assert problem["detail"] == "This address answers OPTIONS, POST and no other method."
    response = _answers(service)["wrong method"]
    assert response.status_code == 405
    assert {"GET", "POST"} <= {method.strip() for method in response.headers["allow"].split(",")}


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_probe_with_head_gets_the_headers_alone(service: Service, path: str) -> None:
    """Monitors that probe with HEAD get the status and the headers of GET."""
    read, probed = service.client.get(path), service.client.head(path)
    assert (probed.status_code, probed.content) == (200, b"")
    same = ("content-type", "content-length", "cache-control")
    assert [probed.headers[name] for name in same] == [read.headers[name] for name in same]


def test_behind_tls_answers_have_strict_transport_security(tmp_path: Path, policies: Path) -> None:
    """With an https address every answer carries Strict-Transport-Security."""
    settings = Settings(data=tmp_path / "data", policies=policies, public_url="https://desk.example.org")
    client: TestClient[Any]
    with TestClient(create_app(settings), base_url="https://desk.example.org") as client:
        for path in ("/login", "/nothing", "/healthz", "/v1/memories", "/assets/antechamber.css"):
            assert client.get(path).headers["strict-transport-security"] == "max-age=31536000"


def test_only_the_assets_are_served_as_files(service: Service) -> None:
    """No path leads out of the assets folder."""
    outside = ("", "../desk.html", "%2e%2e/desk.html", "..%2fdesk.html", "/etc/passwd")
    for path in (*outside, "antechamber.css/x", "%00", "x" * 300):
        response = service.client.get(f"/assets/{path}")
        assert (path, response.status_code) == (path, 404)
        assert "{%" not in response.text


def test_the_style_sheet_has_the_name_of_its_content(service: Service) -> None:
    """Pages link the style sheet by its digest, so a new version is never mixed with old pages."""
    page = service.client.get("/login").text
    sheet = page.partition('<link rel="stylesheet" href="')[2].partition('"')[0]
    assert sheet.startswith("/assets/antechamber.css?")
    assert service.client.get(f"{URL}{sheet}").status_code == 200
