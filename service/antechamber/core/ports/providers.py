"""What flows need of a provider of OpenID Connect."""

from typing import Protocol

from msgspec import Struct

from antechamber.core.access.providers import Metadata, Provider


class Question(Struct, frozen=True, kw_only=True):
    """The secrets of one sign-in, and where the provider sends the browser back."""

    redirect_uri: str
    state: str
    nonce: str
    verifier: str
    """Of PKCE (RFC 7636)."""
    again: bool
    """Whether the person has to prove again who it is."""


class ProviderClient(Protocol):
    """Speaks with providers."""

    def get(self, url: str, *, allow_private: bool) -> bytes:
        """Return what an address answers.

        Raises FetchError.
        """

    def authorization_url(self, provider: Provider, metadata: Metadata, question: Question) -> str:
        """Return the address at which a person signs in.

        Raises UnavailableError if this service lacks what it takes.
        """

    def exchange(self, provider: Provider, metadata: Metadata, question: Question, code: str) -> str | None:
        """Return the ID token for a code, or None if the provider refuses the code.

        Raises FetchError if the provider does not answer as it should, UnavailableError if this service lacks what it
        takes, as the client secret.
        """
