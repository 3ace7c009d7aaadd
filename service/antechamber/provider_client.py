"""Speaks with providers of OpenID Connect; the only module that uses Authlib, which the extra `oidc` installs.

Authlib forms the addresses and requests of OAuth 2.0, with PKCE and the authentication of the client. They are sent by
the sender of webhooks, which checks each address and bounds time and size.
"""

import asyncio
import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

import msgspec

from antechamber.core.access.providers import Metadata, Provider, may_be_private
from antechamber.core.errors import FetchError, UnavailableError
from antechamber.core.ports.providers import Question
from antechamber.core.webhooks.message import Message
from antechamber.webhook_sender import HttpSender

if TYPE_CHECKING:
    from authlib.oauth2.client import OAuth2Client

SECONDS: Final = 5.0
"""Seconds for one request to a provider; a sign-in takes at most three."""
MAX_SECRET: Final = 4_096
"""Bytes of a client secret."""
MAX_ID_TOKEN: Final = 32_768
"""Characters of an ID token."""
_REFUSALS: Final = frozenset(
    {"invalid_client", "invalid_request", "invalid_scope", "unauthorized_client", "unsupported_grant_type"}
)
"""Errors of a token endpoint (RFC 6749, 5.2)."""


class ProviderHttp:
    """Implements core.ports.providers.ProviderClient."""

    def get(self, url: str, *, allow_private: bool) -> bytes:
        """Return what an address answers; in a thread without an event loop.

        Raises FetchError.
        """
        return asyncio.run(HttpSender(seconds=SECONDS).get(url, allow_private=allow_private))

    def authorization_url(self, provider: Provider, metadata: Metadata, question: Question) -> str:
        """Return the address at which a person signs in.

        Raises UnavailableError if the extra `oidc` is not installed or the client secret cannot be read.
        """
        again = {"prompt": "login", "max_age": "0"} if question.again else {}
        url, _ = _client(provider, metadata, question).create_authorization_url(
            metadata.authorization_endpoint,
            state=question.state,
            code_verifier=question.verifier,
            nonce=question.nonce,
            **again,
        )
        return str(url)

    def exchange(self, provider: Provider, metadata: Metadata, question: Question, code: str) -> str | None:
        """Return the ID token for a code, or None if the provider refuses the code; in a thread without an event loop.

        Raises FetchError if the provider does not answer as it should; UnavailableError as above.
        """
        client = _client(provider, metadata, question)
        from authlib.oauth2 import OAuth2Error  # noqa: PLC0415 -- an optional extra

        try:
            answer = client.fetch_token(
                metadata.token_endpoint, code=code, code_verifier=question.verifier, grant_type="authorization_code"
            )
        except OAuth2Error as error:
            if error.error == "invalid_grant":
                return None
            # The provider chose the text.
            known = error.error if error.error in _REFUSALS else "an error"
            message = f"it refuses this service with {known}"
            raise FetchError(message) from None
        except (ValueError, TypeError, ArithmeticError, RecursionError):
            message = "its answer to the code cannot be read"
            raise FetchError(message) from None
        token = answer.get("id_token")
        if not isinstance(token, str) or len(token) > MAX_ID_TOKEN:
            message = "it gives no ID token, or one that is too long"
            raise FetchError(message)
        return token


def provider_setup_problem(provider: Provider) -> str | None:
    """Return why people cannot sign in at a provider, as far as this machine is the cause, or None."""
    if importlib.util.find_spec("authlib") is None or importlib.util.find_spec("jwt") is None:
        return "the extra oidc is not installed"
    try:
        _secret_of(provider)
    except UnavailableError as error:
        return str(error)
    return None


def _secret_of(provider: Provider) -> str | None:
    """Return the client secret, which is read for each sign-in, so that a new one counts at once.

    Raises UnavailableError if it is missing.
    """
    if provider.secret_env is not None:
        secret = os.environ.get(provider.secret_env, "")
        origin = f"the environment variable {provider.secret_env}"
    elif provider.secret_file is not None:
        origin = f"the file {provider.secret_file}"
        try:
            with Path(provider.secret_file).open("rb") as file:
                secret = file.read(MAX_SECRET).decode().strip()
        except (OSError, UnicodeDecodeError):
            secret = ""
    else:
        return None
    # Authlib writes the secret into a header as latin-1.
    if not secret or not secret.isascii() or not secret.isprintable():
        message = f"{origin} has no client secret"
        raise UnavailableError(message)
    return secret


def _client(provider: Provider, metadata: Metadata, question: Question) -> "OAuth2Client":
    """Return Authlib's client for one sign-in.

    Raises UnavailableError.
    """
    try:
        from authlib.oauth2.client import OAuth2Client  # noqa: PLC0415 -- an optional extra
    except ImportError:
        message = "the extra oidc is not installed"
        raise UnavailableError(message) from None
    secret = _secret_of(provider)
    posts = "client_secret_basic" not in metadata.token_endpoint_auth_methods_supported
    method = "client_secret_post" if posts else "client_secret_basic"
    return OAuth2Client(
        _Session(provider),
        client_id=provider.client_id,
        client_secret=secret,
        token_endpoint_auth_method=method if secret else "none",
        scope=" ".join(provider.scopes),
        redirect_uri=question.redirect_uri,
        code_challenge_method="S256",
    )


class _Answer:
    """What Authlib expects of an answer."""

    def __init__(self, status: int, body: bytes) -> None:
        self.status_code = status
        self._body = body

    def json(self) -> Any:
        return msgspec.json.decode(self._body)

    def raise_for_status(self) -> None:
        message = f"it answers the code with status {self.status_code}"
        raise FetchError(message)


class _Session:
    """Sends the requests that Authlib forms."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    def post(self, url: str, data: dict[str, str], headers: dict[str, str], auth: Any) -> _Answer:
        url, sent, body = auth.prepare("POST", url, dict(headers), urlencode(data))
        raw = str(body).encode()
        # The sender writes the length itself.
        message = Message(headers=sent, body=raw)
        allowed = may_be_private(self._provider, url)
        return _Answer(*asyncio.run(HttpSender(seconds=SECONDS).post(url, message, allow_private=allowed)))
