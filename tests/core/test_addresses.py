"""Addresses: validation, and which parts may be shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antechamber.core.addresses import HIDDEN, has_secrets, is_address, is_database, redact_address

SECRET = "s3cr3t"


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        (f"https://pins:{SECRET}@pins.example/antechamber", "https://pins.example/antechamber"),
        (f"https://{SECRET}@pins.example:8443/a/b", "https://pins.example:8443/a/b"),
        (f"https://pins.example/antechamber?key={SECRET}#{SECRET}", "https://pins.example/antechamber"),
        (f"http://pins:{SECRET}@[::1]:9000/x", "http://[::1]:9000/x"),
        ("https://pins.example/antechamber", "https://pins.example/antechamber"),
        ("nowhere", "nowhere"),
        ("", ""),
        # These passwords contain a delimiter, so it is ambiguous which part is the password.
        (f"https://pins:1/{SECRET}@pins.example/", HIDDEN),
        (f"https://pins:1?{SECRET}@pins.example/", HIDDEN),
        (f"https://pins:1#{SECRET}@pins.example/", HIDDEN),
        (f"https://pins:{SECRET}/x@pins.example/", HIDDEN),
        (f"https://[pins:{SECRET}@pins.example/", HIDDEN),
        (f"pins:{SECRET}@pins.example", HIDDEN),
        (f"?{SECRET}", HIDDEN),
    ],
)
def test_an_address_is_shown_without_what_may_be_secret(url: str, seen: str) -> None:
    """Scheme, host, port and path are shown, or nothing."""
    assert redact_address(url) == seen


@given(st.text(alphabet="s3cr3t:/?#[]% ", max_size=12), st.sampled_from(["", "/path", ":81/path"]))
def test_no_password_is_shown_encoded_or_not(characters: str, rest: str) -> None:
    """No password is shown, whether percent-encoded or not."""
    assert "Pa55word" not in redact_address(f"https://pins:{characters}Pa55word@pins.example{rest}")
    assert "Pa55word" not in redact_address(f"https://pins:Pa55word{characters}@pins.example{rest}")


def test_an_address_names_scheme_and_host() -> None:
    """An address must name a scheme and a host, and a valid port if any."""
    for url in ("http://a", "https://a:443/b?c", "http://u:p@[::1]:1"):
        assert is_address(url)
    for url in ("a", "ftp://a", "https://", "//a", "https://[a", "https://a:b", "https://a:99999"):
        assert not is_address(url)


def test_credentials_and_queries_of_an_address_are_noticed() -> None:
    """Credentials and queries are found in every part that can hold them."""
    for url in ("https://u@a", "https://u:p@a/b", "https://a?b", "https://a/b#c", "https://@a"):
        assert has_secrets(url)
    for url in ("https://a", "https://a:1/b/"):
        assert not has_secrets(url)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://localhost/memories",
        "postgresql:///memories?host=/run/postgresql",
        "postgresql://postgres:@/postgres?host=/dev/shm/pg&port=5433",
        "postgres://me:p%40ss%2Fword@db.example:5432/memories?sslmode=verify-full",
        "postgresql://me:p#w!$*;:=@db.example/memories",
        "postgresql://me@[2001:db8::1]:5432/memories",
        "postgresql://me:pw@one.example:1,two.example:2,three.example/memories?target_session_attrs=read-write",
        "postgresql://me:pw@%2Frun%2Fpostgresql/memories",
    ],
)
def test_an_address_of_a_database_is_taken(url: str) -> None:
    """All forms of libpq are accepted if special characters of the password are encoded."""
    assert is_database(url)


@pytest.mark.parametrize(
    "url",
    [
        "memories",
        "http://localhost/memories",
        f"postgresql://me:{SECRET}%zz@db.example/memories",
        f"postgresql://me:{SECRET}%00@db.example/memories",
        f"postgresql://me:{SECRET} @db.example/memories",
        f"postgresql://me:a@{SECRET}@db.example/memories",
        f"postgresql://me:a/{SECRET}@db.example/memories",
        f"postgresql://me:1/{SECRET}@db.example/memories",
        f"postgresql://me:1?{SECRET}@db.example/memories",
        f"postgresql://me:1?{SECRET}=@db.example/memories",
        f"postgresql://me:{SECRET}@[db.example/memories",
        f"postgresql://db.example/memories?{SECRET}",
    ],
)
def test_an_address_whose_password_the_driver_would_repeat_is_none(url: str) -> None:
    """The driver reads part of such a password as a host, port or name and repeats it in errors, so it is refused."""
    assert not is_database(url)
