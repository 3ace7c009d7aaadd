"""Addresses and Cookie fields longer than any that the service needs are refused, because the framework keeps them."""

from typing import Any

import pytest

from antechamber.web.long_heads import MAX_COOKIE_PAIRS, MAX_COOKIES, MAX_PARAMETERS, MAX_PATH, MAX_QUERY
from support import Service

JUST_SHORT = [
    ("/memories/".ljust(MAX_PATH, "a"), {}, 303),
    ("/login?q=".ljust(MAX_QUERY + len("/login?"), "a"), {}, 200),
    ("/login?" + "&".join(["a=b"] * MAX_PARAMETERS), {}, 200),
    ("/login", {"cookie": "a=".ljust(MAX_COOKIES, "b")}, 200),
    ("/login", {"cookie": "; ".join(["a=b"] * MAX_COOKIE_PAIRS)}, 200),
]
"""Addresses and headers at their limits, and the usual status; one byte or member more is refused."""


def longer(path: str, headers: dict[str, str]) -> tuple[str, dict[str, str]]:
    """Return the same with one byte or member more."""
    more = "&a=b" if "&" in path else "a"
    cookie = headers.get("cookie", "")
    return (path, {"cookie": cookie + ("; a=b" if ";" in cookie else "b")}) if cookie else (path + more, headers)


@pytest.mark.parametrize(("path", "headers", "status"), JUST_SHORT)
def test_what_is_too_long_is_refused_before_it_is_read(
    service: Service, path: str, headers: dict[str, str], status: int
) -> None:
    """At the limit the answer is the usual one; beyond it 414 or 431, with a sentence and the usual headers."""

    def get(path: str, headers: dict[str, str]) -> Any:
        return service.client.get(path, headers=headers, follow_redirects=False)

    assert get(path, headers).status_code == status
    refused = get(*longer(path, headers))
    assert refused.status_code == (431 if headers else 414)
    assert refused.headers["content-type"] == "text/plain; charset=utf-8"
    assert ("too many cookies" if headers else "address is too long") in refused.text
    assert refused.headers["x-request-id"]
    assert refused.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in refused.headers["content-security-policy"]


def test_programs_get_a_problem(service: Service) -> None:
    """A program gets the refusal as a problem (RFC 9457); several Cookie fields count together."""
    refused = service.client.get("/v1/memories?q=" + "a" * MAX_QUERY)
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["status"] == 414
    half = ("cookie", "a=".ljust(MAX_COOKIES // 2, "b"))
    assert service.client.get("/healthz", headers=[half, half]).json()["status"] == 431
    assert service.client.get("/healthz", headers=[half]).status_code == 200
