"""Documents of providers: how many are kept."""

import json

from antechamber.core.access.providers import Provider
from antechamber.flows.providers.documents import MAX_KEPT, ProviderDocuments


def provider(number: int) -> Provider:
    """Return one of many providers."""
    return Provider(name=f"p{number}", title="One", issuer=f"https://{number}.example.com", client_id="desk")


def test_the_oldest_document_is_dropped_when_there_are_too_many() -> None:
    """A policy that changes often does not fill the memory; what was dropped is fetched again."""
    fetched: list[str] = []

    def fetch(url: str, *, allow_private: bool) -> bytes:
        fetched.append(url)
        issuer = url.partition("/.well-known")[0]
        names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        assert not allow_private
        return json.dumps({"issuer": issuer} | {name: f"{issuer}/{name}" for name in names}).encode()

    documents = ProviderDocuments(fetch, lambda: 1_800_000_000_000_000)
    for number in range(MAX_KEPT + 1):
        assert documents.metadata(provider(number)).issuer == provider(number).issuer
    assert documents.known(provider(0)) is None
    assert documents.known(provider(1)) is not None
    documents.metadata(provider(MAX_KEPT))
    assert len(fetched) == MAX_KEPT + 1
    documents.metadata(provider(0))
    assert len(fetched) == MAX_KEPT + 2
