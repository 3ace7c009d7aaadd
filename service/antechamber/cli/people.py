"""Verbs for tokens and accounts."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from antechamber import app
from antechamber.app.data_folder import policies_in_use
from antechamber.cli.options import fail, json_option, location_options, policies_option, show
from antechamber.cli.terminal import say
from antechamber.core.access.callers import ACCOUNT_ROLES, TOKEN_ROLES
from antechamber.core.access.lifetimes import parse_lifetime
from antechamber.core.access.sessions import AccessError
from antechamber.core.access.token_warnings import warnings_of_token
from antechamber.core.addresses import has_secrets, is_address
from antechamber.core.counted import counted
from antechamber.core.errors import AntechamberError, PolicyError
from antechamber.core.times import format_time
from antechamber.flows.access import AccessFlows
from antechamber.policy_files import read_policy
from antechamber.settings import Location

_DEFAULT_URL: Final = "http://127.0.0.1:8080"


@click.group()
def token() -> None:
    """Tokens for agents and auditors. None of them can promote a memory."""


@token.command("issue")
@click.argument("name")
@click.option(
    "--role", type=click.Choice(TOKEN_ROLES), default="producer", show_default=True, help="What the token is for."
)
@click.option("--read", "read", multiple=True, metavar="SCOPE", help="scope:scope_id that may be read; repeatable.")
@click.option("--expires", metavar="TIME", help="Lifetime such as 90d, 12h or 30m. Default: none.")
@location_options
@policies_option("Policy folder that names the producers. Default: what serve uses.")
@json_option
def issue(  # noqa: PLR0913 -- one parameter per option
    name: str,
    role: Any,
    read: tuple[str, ...],
    expires: str | None,
    location: Location,
    policies: Path | None,
    *,
    as_json: bool,
) -> None:
    """Issue a token and print it, once: only its digest is kept.

    For a producer NAME is its identity, e.g. worker:release-bot, and the policy says what it may do; standard error has
    a warning if it may not do that yet.
    """
    try:
        lifetime = None if expires is None else parse_lifetime(expires)
    except AccessError as error:
        raise click.BadParameter(str(error), param_hint="--expires") from None
    with _access(location, grants=True) as access:
        token_id, secret = access.tokens.issue(name, role, list(read), lifetime)
    if role == "producer":
        _warn(name, read, policies_in_use(location.data, policies))
    if as_json:
        show({"token_id": token_id, "token": secret})
    else:
        click.echo(secret)


def _warn(name: str, read: tuple[str, ...], policies: Path) -> None:
    """Say what the token cannot do under the policy; it is issued all the same, because the policy may follow."""
    try:
        warnings = warnings_of_token(name, read, read_policy(policies).producers)
    except PolicyError as error:
        warnings = [f"the policy was not compared with the token: {error}"]
    for warning in warnings:
        click.echo(f"Warning: {warning}. The policy is {policies}; another one is named with --policies.", err=True)


@token.command("list")
@location_options
@json_option
def list_tokens(location: Location, *, as_json: bool) -> None:
    """List tokens: whose, what for, when last used. The secrets are nowhere."""
    with _access(location) as access:
        rows = access.tokens.all()
    if as_json:
        show(rows)
        return
    for row in rows:
        state = f"revoked {format_time(row.revoked_at)[:10]}" if row.revoked_at else _expiry(row.expires_at)
        used = format_time(row.last_used_at)[:16] if row.last_used_at else "never"
        say(f"{row.token_id}  {row.role:<8}  {row.name}  {' '.join(row.read)}  {state}  last used {used}")
    if not rows:
        click.echo("No tokens yet. Make one with: antechamber token issue NAME", err=True)


def _expiry(expires_at: int | None) -> str:
    return "no expiry" if expires_at is None else f"until {format_time(expires_at)[:16]}"


@token.command("revoke")
@click.argument("name")
@location_options
@json_option
def revoke(name: str, location: Location, *, as_json: bool) -> None:
    """Revoke tokens by token id or by name; a running service notices within a second."""
    with _access(location) as access:
        count = access.tokens.revoke(name)
    if as_json:
        show({"revoked": count})
    elif count:
        click.echo(f"Revoked {counted(count, 'token')}.")
    if not count:
        fail(AntechamberError(f"no token in use is called {name}; see: antechamber token list"))


def _check_url(_context: click.Context, _option: click.Parameter, url: str | None) -> str | None:
    if url is not None and (not is_address(url) or has_secrets(url)):
        message = "write the address of the desk, http:// or https:// and its host, e.g. https://memory.example.org"
        raise click.BadParameter(message)
    return url


_url_option: Final = click.option(
    "--url",
    callback=_check_url,
    metavar="URL",
    help=f"Address of the desk, for the link. Default: where the service was served last, else {_DEFAULT_URL}.",
)


@click.group()
def user() -> None:
    """People who sign in at the desk: curators, auditors, operators."""


@user.command("add")
@click.argument("name")
@click.option("--role", type=click.Choice(ACCOUNT_ROLES), required=True, help="What this account may do.")
@click.option("--person", help="The human behind the account, where one has several. Default: NAME.")
@click.option("--password-stdin", is_flag=True, help="Read a password of at least 12 characters from standard input.")
@_url_option
@location_options
@json_option
def add_user(  # noqa: PLR0913 -- one parameter per option
    name: str,
    role: Any,
    person: str | None,
    url: str | None,
    location: Location,
    *,
    password_stdin: bool,
    as_json: bool,
) -> None:
    """Add an account. Without a password, print a sign-in link that works once within 15 minutes."""
    with _access(location, grants=True) as access:
        password = app.hash_password(_read_password()) if password_stdin else None
        access.accounts.add(name, role, person, password)
        link = None if password_stdin else _link(access, name, url)
    if as_json:
        show({"name": name, "role": role, "person": person or name, "link": link})
    else:
        click.echo(link or f"Added {name}.")


def _read_password() -> str:
    try:
        return sys.stdin.buffer.readline().decode().rstrip("\r\n")
    except UnicodeDecodeError:
        message = "the password on standard input is not UTF-8"
        raise AntechamberError(message) from None


def _link(access: AccessFlows, name: str, url: str | None) -> str:
    address = url or access.address.last() or _DEFAULT_URL
    return f"{address.rstrip('/')}/login?link={access.sign_in.create_link(name)}"


@user.command("link")
@click.argument("name")
@_url_option
@location_options
def link_user(name: str, url: str | None, location: Location) -> None:
    """Print a sign-in link for an account: it works once, within 15 minutes."""
    with _access(location, grants=True) as access:
        click.echo(_link(access, name, url))


@user.command("password")
@click.argument("name")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input instead of the terminal.")
@location_options
def set_password(name: str, location: Location, *, password_stdin: bool) -> None:
    """Set the password of an account: at least 12 characters, asked twice. Its sessions and sign-in links end."""
    if not password_stdin and not sys.stdin.isatty():
        fail(AntechamberError("there is no terminal to ask for the password; send it with --password-stdin"))
    with _access(location, grants=True) as access:
        access.passwords.check_account(name)
        password = _read_password() if password_stdin else _asked_password(name)
        access.passwords.set(name, app.hash_password(password))
    click.echo(f"Set the password of {name}. Its sessions and sign-in links have ended.")


def _asked_password(name: str) -> str:
    password: str = click.prompt(f"New password of {name}", hide_input=True, confirmation_prompt="The same again")
    return password


@user.command("list")
@location_options
@json_option
def list_users(location: Location, *, as_json: bool) -> None:
    """List accounts."""
    with _access(location) as access:
        rows = access.accounts.all()
    if as_json:
        hidden = [msgspec.structs.asdict(row) | {"password": row.password is not None} for row in rows]
        show(hidden)
        return
    for row in rows:
        state = "disabled" if row.disabled_at else "active"
        say(f"{row.name}  {row.role:<8}  person {row.person}  {state}")
    if not rows:
        click.echo("No accounts yet. Add one with: antechamber user add NAME --role curator", err=True)


@user.command("disable")
@click.argument("name")
@location_options
def disable_user(name: str, location: Location) -> None:
    """Disable an account and end its sessions. Its decisions stay."""
    with _access(location) as access:
        done = access.accounts.disable(name)
    if not done:
        fail(AntechamberError(f"no active account is called {name}; see: antechamber user list"))
    click.echo(f"Disabled {name}.")


@contextlib.contextmanager
def _access(location: Location, *, grants: bool = False) -> Iterator[AccessFlows]:
    """Open a data folder; every error ends the program with a text that states what to do."""
    try:
        with app.opened_access(location, grants=grants) as access:
            yield access
    except AntechamberError as error:
        fail(error)
