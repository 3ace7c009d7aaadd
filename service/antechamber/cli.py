"""The command line: one verb per job, help that teaches, JSON where a program reads it."""

import contextlib
import logging
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

import click
import msgspec

from antechamber import __version__, app
from antechamber.client.http import Sender, SendError, batches, fill_in, hash_event
from antechamber.config import Settings, read_policy
from antechamber.core.canonical import decode
from antechamber.core.errors import AntechamberError, RefusedError
from antechamber.core.privacy import RULES
from antechamber.core.records import AuditFilter
from antechamber.core.roles import PERSON_ROLES, TOKEN_ROLES
from antechamber.core.submission import format_time, parse_time
from antechamber.flows.access import Access
from antechamber.resources import folder

_DAYS: Final = re.compile(r"(\d{1,5})([dhm])")
_UNITS: Final = {"d": 86_400_000_000, "h": 3_600_000_000, "m": 60_000_000}

data_option = click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="ANTECHAMBER_DATA",
    required=True,
    help="Folder that holds the database and the secret; made at first use. Back up this folder.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for a program.")


def fail(error: Exception) -> NoReturn:
    """End with a text that says what to do."""
    raise click.ClickException(str(error))


def show(value: Any) -> None:
    """Print JSON."""
    click.echo(msgspec.json.encode(value).decode())


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="antechamber")
def main() -> None:
    r"""Antechamber: what worker agents want remembered waits here until a curator decides.

    \b
    A first round, in three terminals or with scripts/demo:
      antechamber serve --data data
      antechamber user add ada --role curator --data data       prints a sign-in link
      antechamber token issue worker:release-bot --data data    prints a token
      ANTECHAMBER_TOKEN=… antechamber submit events.jsonl
    """
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")


@main.command()
@data_option
@click.option(
    "--policies",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="ANTECHAMBER_POLICIES",
    help="Folder with producers.toml; edits take effect without restart. Default: the shipped policy.",
)
@click.option("--host", default="127.0.0.1", show_default=True, envvar="ANTECHAMBER_HOST", help="Address to listen on.")
@click.option(
    "--port",
    default=8080,
    show_default=True,
    envvar="ANTECHAMBER_PORT",
    type=click.IntRange(1, 65535),
    help="Port to listen on.",
)
@click.option("--public-url", envvar="ANTECHAMBER_PUBLIC_URL", help="Address browsers use, behind a proxy with TLS.")
def serve(data: Path, policies: Path | None, host: str, port: int, public_url: str | None) -> None:
    """Run the service: HTTP for agents, the review desk for curators, one process.

    Stop it with Ctrl-C or SIGTERM; it answers what it accepted first.
    """
    settings = Settings(data=data, policies=policies or folder("policies"), host=host, port=port, public_url=public_url)
    try:
        app.serve(settings, f"Antechamber is ready: {settings.url}  (desk: {settings.url}/review)")
    except (AntechamberError, OSError, RuntimeError) as error:
        fail(error)


@main.group()
def token() -> None:
    """Tokens for agents and auditors. None of them can promote a memory."""


@token.command("issue")
@click.argument("name")
@click.option("--role", type=click.Choice(TOKEN_ROLES), default="producer", show_default=True)
@click.option("--read", "read", multiple=True, metavar="SCOPE", help="scope:scope_id that may be read; repeatable.")
@click.option("--expires", metavar="TIME", help="Lifetime such as 90d, 12h or 30m. Default: none.")
@data_option
@json_option
def issue(name: str, role: Any, read: tuple[str, ...], expires: str | None, data: Path, *, as_json: bool) -> None:
    """Issue a token and print it, once: only its digest is kept.

    For a producer NAME is its identity, e.g. worker:release-bot, and the policy says what it may do.
    """
    with _access(data, create=True) as access:
        token_id, secret = access.issue(name, role, list(read), _lifetime(expires))
    if as_json:
        show({"token_id": token_id, "token": secret})
    else:
        click.echo(secret)


def _lifetime(text: str | None) -> int | None:
    if text is None:
        return None
    match = _DAYS.fullmatch(text)
    if match is None:
        message = f"{text} is no lifetime: write a number and d, h or m, e.g. 90d"
        raise click.BadParameter(message, param_hint="--expires")
    return int(match.group(1)) * _UNITS[match.group(2)]


@token.command("list")
@data_option
@json_option
def list_tokens(data: Path, *, as_json: bool) -> None:
    """List tokens: whose, what for, when last used. The secrets are nowhere."""
    with _access(data) as access:
        rows = access.tokens()
    if as_json:
        show(rows)
        return
    for row in rows:
        state = f"revoked {format_time(row.revoked_at)[:10]}" if row.revoked_at else _expiry(row.expires_at)
        used = format_time(row.last_used_at)[:16] if row.last_used_at else "never"
        click.echo(f"{row.token_id}  {row.role:<8}  {row.name}  {' '.join(row.read)}  {state}  last used {used}")
    if not rows:
        click.echo("No tokens yet. Make one with: antechamber token issue NAME", err=True)


def _expiry(expires_at: int | None) -> str:
    return "no expiry" if expires_at is None else f"until {format_time(expires_at)[:16]}"


@token.command("revoke")
@click.argument("name")
@data_option
@json_option
def revoke(name: str, data: Path, *, as_json: bool) -> None:
    """Revoke tokens by token id or by name; a running service notices within a second."""
    with _access(data) as access:
        number = access.revoke(name)
    if as_json:
        show({"revoked": number})
    elif number:
        click.echo(f"Revoked {number} token{'s' if number > 1 else ''}.")
    if not number:
        fail(AntechamberError(f"no token in use is called {name}; see: antechamber token list"))


@main.group()
def user() -> None:
    """People who sign in at the desk: curators, auditors, operators."""


@user.command("add")
@click.argument("name")
@click.option("--role", type=click.Choice(PERSON_ROLES), required=True, help="What this account may do.")
@click.option("--person", help="The human behind the account, where one has several. Default: NAME.")
@click.option("--password-stdin", is_flag=True, help="Read a password of at least 12 characters from standard input.")
@click.option("--url", default="http://127.0.0.1:8080", show_default=True, help="Address of the desk, for the link.")
@data_option
@json_option
def add_user(  # noqa: PLR0913 -- one parameter per option
    name: str, role: Any, person: str | None, url: str, data: Path, *, password_stdin: bool, as_json: bool
) -> None:
    """Add an account. Without a password, print a sign-in link that works once within 15 minutes."""
    with _access(data, create=True) as access:
        password = app.hash_password(sys.stdin.readline().rstrip("\r\n")) if password_stdin else None
        access.add_user(name, role, person, password)
        link = None if password_stdin else _link(access, name, url)
    if as_json:
        show({"name": name, "role": role, "person": person or name, "link": link})
    else:
        click.echo(link or f"Added {name}.")


def _link(access: Access, name: str, url: str) -> str:
    return f"{url.rstrip('/')}/login?link={access.link(name)}"


@user.command("link")
@click.argument("name")
@click.option("--url", default="http://127.0.0.1:8080", show_default=True, help="Address of the desk.")
@data_option
def link_user(name: str, url: str, data: Path) -> None:
    """Print a sign-in link for an account: it works once, within 15 minutes."""
    with _access(data) as access:
        click.echo(_link(access, name, url))


@user.command("list")
@data_option
@json_option
def list_users(data: Path, *, as_json: bool) -> None:
    """List accounts."""
    with _access(data) as access:
        rows = access.users()
    if as_json:
        hidden = [msgspec.structs.asdict(row) | {"password": row.password is not None} for row in rows]
        show(hidden)
        return
    for row in rows:
        state = "disabled" if row.disabled_at else "active"
        click.echo(f"{row.name}  {row.role:<8}  person {row.person}  {state}")
    if not rows:
        click.echo("No accounts yet. Add one with: antechamber user add NAME --role curator", err=True)


@user.command("disable")
@click.argument("name")
@data_option
def disable_user(name: str, data: Path) -> None:
    """Disable an account and end its sessions. Its decisions stay."""
    with _access(data) as access:
        done = access.disable(name)
    if not done:
        fail(AntechamberError(f"no active account is called {name}; see: antechamber user list"))
    click.echo(f"Disabled {name}.")


@contextlib.contextmanager
def _access(data: Path, *, create: bool = False) -> Iterator[Access]:
    """Open a data folder; whatever goes wrong ends with a text that says what to do."""
    try:
        with app.opened_access(data, create=create) as access:
            yield access
    except AntechamberError as error:
        fail(error)


@main.command()
@click.argument("file", type=click.File("rb"))
@click.option("--url", default="http://127.0.0.1:8080", show_default=True, envvar="ANTECHAMBER_URL")
@json_option
def submit(file: Any, url: str, *, as_json: bool) -> None:
    """Submit events, one JSON body a line; FILE may be - for standard input.

    Where a line lacks source_event_hash or idempotency_key they are filled in, the key from the content: sending
    the same file twice is safe. The token comes from ANTECHAMBER_TOKEN.
    """
    secret = os.environ.get("ANTECHAMBER_TOKEN", "")
    if not secret:
        fail(AntechamberError("set ANTECHAMBER_TOKEN to a producer's token; see: antechamber token issue --help"))
    lines = _completed(file.read())
    counts: Counter[str] = Counter()
    sender = Sender(url, secret)
    groups = batches(lines)
    try:
        with click.progressbar(groups, label="Submitting", file=sys.stderr) as shown:
            for group in shown:
                for answer in sender.send(group):
                    counts[answer.disposition or f"refused ({answer.status})"] += 1
                    counts["replayed"] += answer.duplicate
                    if answer.status >= 400 and not as_json:  # noqa: PLR2004 -- refused
                        click.echo(f"\n{answer.idempotency_key}: {answer.detail}", err=True)
    except SendError as error:
        fail(error)
    finally:
        sender.close()
    if as_json:
        show(dict(counts))
    else:
        for name, number in sorted((+counts).items()):
            click.echo(f"{number:>7}  {name}")


def _completed(raw: bytes) -> list[bytes]:
    """Fill in every line before the first one is sent, so that a bad line stops nothing half-way."""
    lines = []
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line.strip():
            try:
                lines.append(fill_in(line))
            except RefusedError as error:
                fail(
                    AntechamberError(
                        f"line {number}: {error.code} at {error.reasons[0].pointer or 'the line'}: {error}"
                    )
                )
    return lines


@main.command("hash")
@click.argument("file", type=click.File("rb"))
def hash_file(file: Any) -> None:
    """Print the source-event hash of a body, or of {payload, source_span}, in FILE (- for standard input)."""
    try:
        click.echo(hash_event(decode(file.read())))
    except RefusedError as error:
        fail(AntechamberError(f"{error.code}: {error} ({error.reasons[0].pointer or 'the whole body'})"))


@main.group()
def policy() -> None:
    """The policy files: who may propose what where."""


@policy.command("check")
@click.argument("policies", type=click.Path(path_type=Path), required=False)
@json_option
def check_policy(policies: Path | None, *, as_json: bool) -> None:
    """Read the policy files of a folder, run their decision tables and print the digest.

    Default: the shipped policy.
    """
    try:
        checked = read_policy(policies or folder("policies"))
    except AntechamberError as error:
        fail(error)
    if as_json:
        show({"digest": checked.digest(), "producers": len(checked.producers), "tests": len(checked.cases)})
        return
    click.echo(f"{len(checked.producers)} producers, {len(checked.cases)} tests hold")
    click.echo(checked.digest())
    click.echo("privacy rules: " + ", ".join(rule.rule_id for rule in RULES if rule.rule_id not in checked.privacy.off))


@main.command()
@click.option("--format", "form", type=click.Choice(["jsonl", "csv"]), default="jsonl", show_default=True)
@click.option("--since", help="Decided at or after this RFC 3339 time.")
@click.option("--until", help="Decided before this RFC 3339 time.")
@click.option("--output", type=click.File("wb"), default="-", help="File to write; standard output by default.")
@data_option
def export(form: Any, since: str | None, until: str | None, output: Any, data: Path) -> None:
    """Export review records; the closing record counts them, so that a cut-off export shows."""
    try:
        chosen = AuditFilter(since=since and parse_time(since), until=until and parse_time(until))  # type: ignore[arg-type]
    except ValueError as error:
        fail(AntechamberError(f"--since and --until take RFC 3339 times: {error}"))
    try:
        with app.opened_export(data) as records:
            for chunk in records.stream(chosen, form):
                output.write(chunk)
    except AntechamberError as error:
        fail(error)


@main.command()
@data_option
@json_option
def doctor(data: Path, *, as_json: bool) -> None:
    """Check a data folder: the file itself, every hash, and that each memory has its approvals. Changes nothing."""
    try:
        found = app.examine(data)
    except AntechamberError as error:
        fail(error)
    if as_json:
        show({"healthy": not found, "findings": found})
    else:
        click.echo("\n".join(found) if found else "Healthy: the file, all hashes and all approvals hold.")
    if found:
        sys.exit(1)


if __name__ == "__main__":
    main()
