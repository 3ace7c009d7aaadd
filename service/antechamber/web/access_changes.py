"""Forms of operators: issue and revoke tokens, add and disable people, make sign-in links."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, cast

from litestar import post
from litestar.di import NamedDependency
from litestar.exceptions import NotFoundException, PermissionDeniedException
from litestar.params import FromPath
from litestar.response import Template
from msgspec import Struct
from msgspec.structs import replace

from antechamber.core.access.callers import ACCOUNT_ROLES, TOKEN_ROLES, Account, AccountRole, TokenRole
from antechamber.core.access.lifetimes import parse_lifetime
from antechamber.core.access.sessions import AccessError, SignedOutError
from antechamber.core.access.token_warnings import warnings_of_token
from antechamber.core.errors import AntechamberError
from antechamber.core.policy import Policy
from antechamber.flows.access import AccessFlows
from antechamber.flows.dashboard import Dashboard
from antechamber.flows.operations import Operations
from antechamber.web import thread_pools
from antechamber.web.auth import act, check_form
from antechamber.web.confirming import confirm
from antechamber.web.operations import render_operations
from antechamber.web.pages import MAX_FORM, read_form
from antechamber.web.problems import AnyRequest, status_of

Form = dict[str, str]


class Made(Struct, frozen=True):
    """What a form did; `secret` is a token or a link, which is shown once, and `warnings` what a token cannot do."""

    text: str
    secret: str = ""
    warnings: list[str] = []


@post("/operations/{change:str}", status_code=200, request_max_body_size=MAX_FORM)
async def change_access(
    request: AnyRequest,
    change: FromPath[str],
    access: NamedDependency[AccessFlows],
    dashboard: NamedDependency[Dashboard],
    operations: NamedDependency[Operations],
) -> Template:
    """Carry out the form of an operator, and show the page with what it made; a secret is in this answer only."""
    form = await read_form(request)
    account = check_form(request, form)
    if account.role != "operator":
        raise PermissionDeniedException(detail=f"This is for operators; you are signed in as {account.role}.")
    work = _CHANGES.get(change)
    if work is None:
        raise NotFoundException
    if change in _GRANTING and (asking := await confirm(request, form, account, "/operations")):
        return asking
    shown: dict[str, Any] = {}
    try:
        made = await act(form, work, access, form, account)
        shown["made"] = replace(made, warnings=_warnings(change, form, dashboard.policy()[0]))
    except SignedOutError:
        raise
    except AntechamberError as error:
        shown |= {"error": _sentence(str(error)), "status": status_of(error), "typed": form}
    render = partial(render_operations, request, dashboard, operations)
    return await thread_pools.run(thread_pools.PAGES, partial(render, **shown))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _warnings(change: str, form: Form, policy: Policy) -> list[str]:
    """Return what a token that was issued cannot do under the policy."""
    if change != "issue-token" or form.get("role") != "producer":
        return []
    found = warnings_of_token(form.get("name", ""), form.get("read", "").split(), policy.producers)
    return [f"{_sentence(warning)}." for warning in found]


def _issue_token(access: AccessFlows, form: Form, account: Account) -> Made:
    name, role, expires = form.get("name", ""), form.get("role", ""), form.get("expires", "")
    lifetime = parse_lifetime(expires) if expires else None
    read = form.get("read", "").split()
    _, secret = access.tokens.issue(name, cast("TokenRole", _known(role, TOKEN_ROLES)), read, lifetime, account)
    return Made(f"The token of {name}. Copy it now: it is stored only as a digest and not shown again.", secret)


def _revoke_token(access: AccessFlows, form: Form, account: Account) -> Made:
    if not access.tokens.revoke(form.get("token_id", ""), account):
        message = "this token is revoked already"
        raise AccessError(message)
    return Made("Revoked. The service refuses the token within a second.")


def _add_person(access: AccessFlows, form: Form, account: Account) -> Made:
    name, role, person = form.get("name", ""), form.get("role", ""), form.get("person", "")
    access.accounts.add(name, cast("AccountRole", _known(role, ACCOUNT_ROLES)), person or None, None, account)
    return _make_link(access, form, account)


def _make_link(access: AccessFlows, form: Form, account: Account) -> Made:
    name = form.get("name", "")
    secret = access.sign_in.create_link(name, account)
    address = (access.address.last() or "").rstrip("/")
    return Made(f"A sign-in link for {name}. It works once, within 15 minutes.", f"{address}/login?link={secret}")


def _disable_person(access: AccessFlows, form: Form, account: Account) -> Made:
    name = form.get("name", "")
    if not access.accounts.disable(name, account):
        message = f"no active account is called {name}"
        raise AccessError(message)
    return Made(f"Disabled {name}. Its sessions ended, and its decisions stay.")


def _known(role: str, roles: tuple[str, ...]) -> str:
    if role not in roles:
        message = f"choose a role: {', '.join(roles)}"
        raise AccessError(message)
    return role


_GRANTING: Final = frozenset({"issue-token", "add-person", "make-link"})
"""Changes that give access; those that end it never wait for a password."""
_CHANGES: Final[dict[str, Callable[[AccessFlows, Form, Account], Made]]] = {
    "issue-token": _issue_token,
    "revoke-token": _revoke_token,
    "add-person": _add_person,
    "make-link": _make_link,
    "disable-person": _disable_person,
}
