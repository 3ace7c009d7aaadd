"""Providers of OpenID Connect at which people sign in: their policy, their document, and the check of an ID token.

The rules are those of OpenID Connect Core 1.0 (3.1.3.7), OpenID Connect Discovery 1.0 (4.3), RFC 9207 and RFC 9700.
Signatures are verified elsewhere.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final
from urllib.parse import urlencode, urlsplit

import msgspec
from blake3 import blake3
from msgspec import Meta, Struct, field

from antechamber.core.access.callers import AccountRole
from antechamber.core.access.workload import LEEWAY_SECONDS, Algorithm, Name
from antechamber.core.contract import NAME, NAME_PATTERN
from antechamber.core.conversion import convert, parse_json
from antechamber.core.webhooks.target import TargetError, read_target

AccountName = Annotated[str, Meta(pattern=f"^{NAME_PATTERN}$")]
ProviderName = Annotated[str, Meta(pattern=r"^[a-z][a-z0-9-]{0,31}$")]
_SECOND: Final = 1_000_000
_LATEST: Final = 1 << 40
"""No time in seconds is greater."""
MAX_SUBJECT: Final = 255
"""Characters of a subject (OpenID Connect Core 1.0, 2)."""


class RoleRule(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A claim that gives a role; the first rule that matches counts."""

    claim: Name
    value: Annotated[str, Meta(min_length=1, max_length=512)]
    """The value of the claim, or one value of a list; of the claim `scope`, one word."""
    role: AccountRole


class NamedSubject(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The account of a subject."""

    subject: Annotated[str, Meta(min_length=1, max_length=MAX_SUBJECT)]
    """The claim `sub`, compared character by character."""
    account: AccountName


class Provider(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A provider at which people sign in."""

    name: ProviderName
    """Part of the address to which the provider sends browsers back."""
    title: Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[^\x00-\x1f\x7f]*$")]
    """What people call it, on the button."""
    issuer: Name
    """Its address, and the claim `iss` of its tokens."""
    client_id: Name
    secret_env: Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}$")] | None = None
    """The environment variable with the client secret."""
    secret_file: Annotated[str, Meta(min_length=1, max_length=4_096, pattern=r"^/[^\x00]*$")] | None = None
    """The file with the client secret; without file and variable the client is a public one."""
    scopes: list[Annotated[str, Meta(pattern=r"^[\x21\x23-\x5b\x5d-\x7e]{1,128}$")]] = field(
        default_factory=lambda: ["openid", "profile"]
    )
    """What is asked of the provider."""
    algorithms: Annotated[list[Algorithm], Meta(min_length=1)] = field(default_factory=lambda: ["RS256", "ES256"])
    roles: list[RoleRule] = []
    people: list[NamedSubject] = []
    create: bool = False
    """Whether a person without an account gets one at the first sign-in."""
    name_claim: Name = "preferred_username"
    """The claim that names a created account."""
    allow_private: bool = False
    """Whether the issuer may be http or in a private network."""


class Metadata(Struct, frozen=True, kw_only=True):
    """What a provider says of itself."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    end_session_endpoint: str | None = None
    authorization_response_iss_parameter_supported: bool = False
    token_endpoint_auth_methods_supported: list[str] = field(default_factory=lambda: ["client_secret_basic"])


class Expected(Struct, frozen=True, kw_only=True):
    """What the ID token of a sign-in has to say."""

    nonce: str
    since: int | None = None
    """The earliest time of the person's proof, in microseconds since 1970 UTC; None if any time counts."""


class Identified(Struct, frozen=True, kw_only=True):
    """The result of the check of an ID token; `refusal` says what is wrong, and is empty if nothing is."""

    refusal: str = ""
    subject: str = ""
    confirmed_at: int = 0
    """When the person proved who it is, in microseconds since 1970 UTC; 0 if the provider does not say."""


class _Claims(Struct, frozen=True):
    iss: str
    sub: Annotated[str, Meta(min_length=1, max_length=MAX_SUBJECT)]
    aud: str | list[str]
    exp: int | float
    iat: int | float
    nonce: str
    azp: str | None = None
    auth_time: int | float | None = None


def discovery_url(issuer: str) -> str:
    """Return the address of an issuer's document."""
    return issuer.rstrip("/") + "/.well-known/openid-configuration"


def may_be_private(provider: Provider, url: str) -> bool:
    """Return whether an address may be in a private network: only that of the issuer that the policy names.

    An answer of the provider cannot send requests to another machine of that network.
    """
    own, other = urlsplit(provider.issuer), urlsplit(url)
    same = (own.scheme, own.hostname, own.port) == (other.scheme, other.hostname, other.port)
    return provider.allow_private and same


def provider_problem(provider: Provider) -> str | None:
    """Return what is wrong with a provider of the policy, or None."""
    try:
        read_target(discovery_url(provider.issuer), allow_private=provider.allow_private)
    except TargetError as error:
        # The rest of such a text is advice for webhooks.
        return f"issuer: {str(error).partition(';')[0]}; write an https address, or set allow_private"
    subjects = [member.subject for member in provider.people]
    checks = (
        ("?" in provider.issuer, "issuer: it cannot have a query; write the address as the provider gives it"),
        (
            provider.secret_env is not None and provider.secret_file is not None,
            "give secret_env or secret_file, not both",
        ),
        ("openid" not in provider.scopes, 'scopes: "openid" is missing; add it'),
        (provider.create and not provider.roles, "create needs roles, because a new account has none; add roles"),
        (len(set(subjects)) < len(subjects), "people: a subject is listed twice; keep one"),
    )
    return next((text for wrong, text in checks if wrong), None)


def read_metadata(data: bytes, provider: Provider) -> Metadata:
    """Return a provider's document, whose addresses were checked.

    Raises ValueError if it is no such document, is another issuer's, or names an address that may not be used.
    """
    try:
        metadata = parse_json(data, Metadata)
    except (msgspec.DecodeError, RecursionError):
        message = "its discovery document cannot be read"
        raise ValueError(message) from None
    if metadata.issuer != provider.issuer:
        message = "its discovery document is of another issuer"
        raise ValueError(message)
    optional = [] if metadata.end_session_endpoint is None else [metadata.end_session_endpoint]
    for url in (metadata.authorization_endpoint, metadata.token_endpoint, metadata.jwks_uri, *optional):
        try:
            read_target(url, allow_private=may_be_private(provider, url))
        except TargetError:
            message = "its discovery document names an address that may not be used"
            raise ValueError(message) from None
    return metadata


def check_id_token(claims: Mapping[str, Any], provider: Provider, expected: Expected, now: int) -> Identified:
    """Check the claims of a verified ID token at a time, in microseconds since 1970 UTC."""
    try:
        said = convert(claims, _Claims)
    except msgspec.ValidationError:
        return Identified(refusal="a claim is missing or has another type")
    proven = said.iat if said.auth_time is None else said.auth_time
    if not all(0 <= time <= _LATEST for time in (said.exp, said.iat, proven)):
        return Identified(refusal="a time is out of range")
    seconds = now / _SECOND
    checks = (
        (said.iss != provider.issuer, "another issuer"),
        (said.aud not in (provider.client_id, [provider.client_id]), "another audience"),
        (said.azp not in {None, provider.client_id}, "another audience"),
        (said.nonce != expected.nonce, "the nonce of another sign-in"),
        (seconds >= said.exp + LEEWAY_SECONDS, "expired"),
        (max(said.iat, proven) > seconds + LEEWAY_SECONDS, "not valid yet"),
        (expected.since is not None and not _is_recent(said.auth_time, expected.since), "not signed in again"),
    )
    refusal = next((text for wrong, text in checks if wrong), "")
    confirmed_at = 0 if said.auth_time is None else min(now, int(said.auth_time * _SECOND))
    return Identified(refusal=refusal, subject=said.sub, confirmed_at=confirmed_at)


def _is_recent(auth_time: float | None, since: int) -> bool:
    return auth_time is not None and auth_time + LEEWAY_SECONDS >= since / _SECOND


def role_of(claims: Mapping[str, Any], rules: Iterable[RoleRule]) -> AccountRole | None:
    """Return the role that verified claims give, or None."""
    return next((rule.role for rule in rules if rule.value in _values(claims, rule.claim)), None)


def _values(claims: Mapping[str, Any], name: str) -> list[Any]:
    value = claims.get(name)
    if isinstance(value, str):
        return value.split(" ") if name == "scope" else [value]
    return value if isinstance(value, list) else []


def account_of(provider: Provider, subject: str) -> str | None:
    """Return the account that the policy names for a subject, or None."""
    return next((member.account for member in provider.people if member.subject == subject), None)


def new_name(provider: Provider, claims: Mapping[str, Any]) -> str | None:
    """Return the name for a new account, or None if the claim has no name that an account can have."""
    name = claims.get(provider.name_claim)
    return name if isinstance(name, str) and NAME.fullmatch(name) else None


def digest_subject(issuer: str, subject: str) -> str:
    """Return the digest under which an account of a subject is stored."""
    return blake3(msgspec.json.encode([issuer, subject])).hexdigest()


def sign_out_url(provider: Provider, metadata: Metadata, back: str) -> str | None:
    """Return the address at which a person signs out at the provider (RP-Initiated Logout 1.0), or None."""
    url = metadata.end_session_endpoint
    if url is None:
        return None
    query = urlencode({"client_id": provider.client_id, "post_logout_redirect_uri": back})
    return f"{url}{'&' if '?' in url else '?'}{query}"
