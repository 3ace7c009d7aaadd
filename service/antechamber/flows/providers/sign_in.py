"""Sign-in of people at a provider of OpenID Connect: the authorization code flow with PKCE, state and nonce."""

import hmac
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

from msgspec import Struct

from antechamber.core.access.callers import Account
from antechamber.core.access.provider_ticket import LIFETIME, MAX_NEXT, Ticket, derive, open_ticket, seal_ticket
from antechamber.core.access.providers import (
    Expected,
    Identified,
    Metadata,
    Provider,
    check_id_token,
    sign_out_url,
)
from antechamber.core.access.secret_format import digest_secret
from antechamber.core.access.sessions import check_signed_in
from antechamber.core.access.workload import is_compact_token, read_unverified
from antechamber.core.errors import AntechamberError, FetchError, UnavailableError
from antechamber.core.metrics.definitions import SIGN_INS
from antechamber.core.metrics.meters import Meters
from antechamber.core.policy import Policy
from antechamber.core.ports.clock import Clock, Randomness
from antechamber.core.ports.providers import ProviderClient, Question
from antechamber.core.ports.store import Rows, Store
from antechamber.core.ports.workload import Verify
from antechamber.flows.providers.accounts import ProviderAccounts
from antechamber.flows.providers.documents import ProviderDocuments
from antechamber.flows.sessions import Sessions, SignedIn
from antechamber.logs import note

_log: Final = logging.getLogger(__name__)
MAX_AT_ONCE: Final = 4
"""Sign-ins that may wait for a provider at a time, so that a slow one holds few threads."""
MAX_CODE: Final = 2_048
"""Characters of an authorization code."""
_NOT_BEGUN: Final = (
    "This sign-in was not begun in this browser, took longer than 10 minutes, or was finished already. Begin it again."
)
_ERRORS: Final = frozenset({"access_denied", "login_required", "interaction_required", "consent_required"})
"""Errors after which the person only has to try again."""


class ProviderRefusedError(AntechamberError):
    """Raised when a sign-in at a provider is refused; the text is for the person."""


class ProviderUnavailableError(UnavailableError):
    """Raised when a provider cannot be asked now; the text is for the person."""


class Begun(Struct, frozen=True):
    """A sign-in that was begun: where the browser goes, and the cookie that it keeps."""

    url: str
    cookie: str


class Finished(Struct, frozen=True):
    """A sign-in that ended well; `signed_in` is None if a signed-in person proved again who it is."""

    signed_in: SignedIn | None
    next: str | None


class ProviderSignIn:
    """Begins and finishes sign-ins at the providers of the policy; `sessions` begins the sessions.

    `secret` is the folder's 32-byte secret. `check` raises ClosedError while sign-in is closed. `setup_problem` says
    what this machine lacks for a provider.
    """

    def __init__(  # noqa: PLR0913 -- the composition root alone calls it
        self,
        store: Store,
        clock: Clock,
        randomness: Randomness,
        secret: bytes,
        sessions: Sessions,
        *,
        check: Callable[[], object],
        policy: Callable[[], Policy],
        client: ProviderClient,
        verify: Verify,
        setup_problem: Callable[[Provider], str | None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._randomness = randomness
        self._secret = secret
        self._sessions = sessions
        self._check = check
        self._policy = policy
        self._client = client
        self._verify = verify
        self._setup_problem = setup_problem
        self._documents = ProviderDocuments(client.get, clock)
        self._accounts = ProviderAccounts(secret, policy)
        self._turns = threading.BoundedSemaphore(MAX_AT_ONCE)
        self.meters: Final = Meters()

    def offered(self) -> list[Provider]:
        """Return the providers of the policy in force."""
        return list(self._policy().providers.values())

    def takes_passwords(self) -> bool:
        """Return whether people may also sign in by password."""
        return self._policy().sign_in.password

    def provider_of(self, account: Account) -> Provider | None:
        """Return the provider at which the person of a session signed in, if the policy still lists it."""
        return None if account.provider is None else self._policy().providers.get(account.provider)

    def alarms(self) -> list[str]:
        """Return what operators have to know: providers at which no one can sign in because of this machine."""
        problems = [(provider.name, self._setup_problem(provider)) for provider in self.offered()]
        return [f"People cannot sign in at the provider {name}: {problem}." for name, problem in problems if problem]

    def sign_out_url(self, name: str, back: str) -> str | None:
        """Return where a person signs out at a provider, if that is known without asking it."""
        provider = self._policy().providers.get(name)
        metadata = None if provider is None else self._documents.known(provider)
        return None if provider is None or metadata is None else sign_out_url(provider, metadata, back)

    def begin(self, name: str, base: str, url: str | None, account: Account | None = None) -> Begun:
        """Begin a sign-in; with an `account`, its person only proves again who it is.

        `base` is this service's address, `url` the local address of the page after the sign-in. Raises
        ProviderRefusedError, ProviderUnavailableError or ClosedError.
        """
        self._check()
        provider = self._provider(name)
        ticket = Ticket(
            flow=self._randomness(24).hex(),
            provider=name,
            begun_at=self._clock(),
            next=url if url and len(url) <= MAX_NEXT else None,
            session=None if account is None else account.session,
        )
        question = self._question(ticket, base)
        with self._turn(provider):
            address = self._client.authorization_url(provider, self._documents.metadata(provider), question)
        return Begun(address, seal_ticket(self._secret, ticket))

    def finish(
        self, name: str, base: str, cookie: str, answer: Mapping[str, str], account: Account | None = None
    ) -> Finished:
        """Finish a sign-in with what the provider answered, the query of the address to which it sent the browser.

        Raises ProviderRefusedError, ProviderUnavailableError, SignedOutError, ClosedError, BusyError or
        UnavailableError.
        """
        self._check()
        provider = self._provider(name)
        ticket = open_ticket(self._secret, cookie, self._clock())
        state = answer.get("state", "").encode("utf-8", "surrogatepass")
        if (
            ticket is None
            or ticket.provider != name
            or not hmac.compare_digest(state, derive(self._secret, ticket, "state").encode())
        ):
            self._refuse(provider, "another browser, too late or twice", _NOT_BEGUN)
        with self._turn(provider):
            claims, said = self._ask(provider, ticket, base, answer)
        if ticket.session is not None:
            self._confirm(provider, ticket, said, account)
            return Finished(None, ticket.next)
        return Finished(self._enter(provider, ticket, claims, said), ticket.next)

    def _provider(self, name: str) -> Provider:
        provider = self._policy().providers.get(name)
        if provider is None:
            message = "There is no such provider here; go back to the sign-in page."
            raise ProviderRefusedError(message)
        return provider

    def _question(self, ticket: Ticket, base: str) -> Question:
        return Question(
            redirect_uri=f"{base}/login/{ticket.provider}/callback",
            state=derive(self._secret, ticket, "state"),
            nonce=derive(self._secret, ticket, "nonce"),
            verifier=derive(self._secret, ticket, "verifier"),
            again=ticket.session is not None,
        )

    def _turn(self, provider: Provider) -> "_Turn":
        return _Turn(self._turns, provider)

    def _refuse(self, provider: Provider, reason: str, text: str) -> NoReturn:
        """Count and log a refused sign-in; no text of the answer is part of the line, because the caller chose it.

        Raises ProviderRefusedError.
        """
        self.meters.count(SIGN_INS, "failed")
        note(_log, logging.WARNING, "sign-in failed", account=None, by=provider.name, reason=reason)
        raise ProviderRefusedError(text)

    def _ask(
        self, provider: Provider, ticket: Ticket, base: str, answer: Mapping[str, str]
    ) -> tuple[Mapping[str, Any], Identified]:
        """Exchange the code and return the claims of the ID token after all checks."""
        issuer, code = answer.get("iss"), answer.get("code", "")
        metadata = self._documents.metadata(provider)
        missing = issuer is None and metadata.authorization_response_iss_parameter_supported
        if missing or issuer not in {None, provider.issuer}:
            self._refuse(provider, "the answer is of another issuer", f"{provider.title} did not give this answer.")
        if "error" in answer or not 0 < len(code) <= MAX_CODE:
            known = answer.get("error") if answer.get("error") in _ERRORS else "another error"
            self._refuse(provider, f"the provider answers {known}", f"{provider.title} did not sign you in. Try again.")
        token = self._client.exchange(provider, metadata, self._question(ticket, base), code)
        if token is None:
            self._refuse(provider, "the code is not valid", _NOT_BEGUN)
        claims = self._verified(provider, metadata, token)
        since = None if ticket.session is None else ticket.begun_at
        expected = Expected(nonce=derive(self._secret, ticket, "nonce"), since=since)
        said = check_id_token(claims, provider, expected, self._clock())
        if said.refusal:
            self._refuse(provider, said.refusal, _untrusted(provider))
        return claims, said

    def _verified(self, provider: Provider, metadata: Metadata, token: str) -> Mapping[str, Any]:
        said = read_unverified(token) if is_compact_token(token) else None
        if said is None or said.algorithm not in provider.algorithms:
            self._refuse(provider, "the algorithm is not listed", _untrusted(provider))
        key = self._documents.key(provider, metadata, said.key_id, said.algorithm)
        claims = None if key is None else self._verify(token, key, said.algorithm)
        if claims is None:
            reason = "the provider has no such key" if key is None else "the signature is not valid"
            self._refuse(provider, reason, _untrusted(provider))
        return claims

    def _enter(self, provider: Provider, ticket: Ticket, claims: Mapping[str, Any], said: Identified) -> SignedIn:
        """Begin a session for the account of a person, which the claims may create or change."""

        def work(tx: Rows) -> SignedIn | str:
            # This comes first: a shared lock that were upgraded later could deadlock.
            tx.access.hold_sessions()
            now = self._clock()
            if not tx.access.finish_sign_in(digest_secret(ticket.flow), now, now - LIFETIME):
                return _NOT_BEGUN
            user = self._accounts.settle(provider, claims, said.subject, now, tx)
            if isinstance(user, str):
                return user
            return self._sessions.begin(user, tx, self._accounts.proven(provider, said))

        done = self._store.write(work).result()
        self._sessions.forget()
        if isinstance(done, str):
            self._refuse(provider, done, done)
        self.meters.count(SIGN_INS, "done")
        account = done.account
        note(_log, logging.INFO, "signed in", account=account.name, role=account.role, by=provider.name)
        return done

    def _confirm(self, provider: Provider, ticket: Ticket, said: Identified, account: Account | None) -> None:
        """Store that the person of a session proved again who it is."""
        if account is None or account.session != ticket.session:
            self._refuse(provider, "another session", _NOT_BEGUN)

        def work(tx: Rows) -> str | None:
            now = self._clock()
            check_signed_in(account, tx.access.signed_in(account.session), now)
            if not tx.access.finish_sign_in(digest_secret(ticket.flow), now, now - LIFETIME):
                return _NOT_BEGUN
            user = self._accounts.find(provider, said.subject, tx)
            if user is None or user.id != account.id:
                return f"You signed in at {provider.title} as another person. Nothing was confirmed."
            tx.access.confirm_session(account.session, now)
            return None

        refusal = self._store.write(work).result()
        self._sessions.forget()
        if refusal is not None:
            self._refuse(provider, refusal, refusal)
        note(_log, logging.INFO, "confirmed", account=account.name, role=account.role)


class _Turn:
    """One of the sign-ins that may wait for a provider; errors of the provider become errors for people."""

    def __init__(self, turns: threading.BoundedSemaphore, provider: Provider) -> None:
        self._turns = turns
        self._provider = provider

    def __enter__(self) -> None:
        if not self._turns.acquire(blocking=False):
            message = "Too many people sign in at once. Try again in a few seconds."
            raise ProviderUnavailableError(message)

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._turns.release()
        if isinstance(error, FetchError | UnavailableError) and not isinstance(error, ProviderUnavailableError):
            name, title = self._provider.name, self._provider.title
            note(_log, logging.WARNING, "sign-in failed", account=None, by=name, reason=str(error))
            message = f"{title} cannot sign you in right now. Try again later, or sign in another way."
            raise ProviderUnavailableError(message) from None


def _untrusted(provider: Provider) -> str:
    return f"The answer of {provider.title} cannot be trusted, so you are not signed in. Tell an operator if it stays."
