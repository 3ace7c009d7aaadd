"""What the routes and the command line need for tokens, accounts and sign-in, as one value."""

from msgspec import Struct

from antechamber.core.metrics.meters import Meters
from antechamber.flows.accounts import Accounts
from antechamber.flows.last_use import LastUse
from antechamber.flows.passwords import AccountPasswords
from antechamber.flows.providers.sign_in import ProviderSignIn
from antechamber.flows.public_address import PublicAddress
from antechamber.flows.sessions import Sessions
from antechamber.flows.sign_in import SignIn
from antechamber.flows.token_check import TokenCheck
from antechamber.flows.tokens import Tokens
from antechamber.flows.workload.issuer_keys import IssuerKeys


class AccessFlows(Struct, frozen=True, kw_only=True):
    """The flows of access over one store."""

    tokens: Tokens
    token_check: TokenCheck
    accounts: Accounts
    passwords: AccountPasswords
    sign_in: SignIn
    sessions: Sessions
    providers: ProviderSignIn
    last_use: LastUse
    address: PublicAddress
    issuer_keys: IssuerKeys

    @property
    def meters(self) -> tuple[Meters, ...]:
        """The counters of all ways to sign in."""
        return self.sign_in.meters, self.providers.meters
