"""Verbs for operators: run the service, migrate its data and check it."""

import contextlib
import json
import logging
import sys
import time
from functools import partial
from pathlib import Path

import click

from antechamber import app
from antechamber.app.data_folder import policies_in_use
from antechamber.cli.options import fail, json_option, location_options, policies_option, show
from antechamber.cli.terminal import say
from antechamber.core.counted import counted
from antechamber.core.errors import AntechamberError
from antechamber.logs import LogFormat, configure, format_moment
from antechamber.permanence import permanent
from antechamber.resources import how_to_install
from antechamber.settings import Location, Settings


@click.command()
@location_options
@policies_option(
    "Folder with producers.toml; edits take effect without restart. Default: the data folder's own, else the "
    "shipped policy."
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    envvar="ANTECHAMBER_HOST",
    show_envvar=True,
    help="Address to listen on.",
)
@click.option(
    "--port",
    default=8080,
    show_default=True,
    envvar="ANTECHAMBER_PORT",
    show_envvar=True,
    type=click.IntRange(1, 65535),
    help="Port to listen on.",
)
@click.option(
    "--public-url",
    envvar="ANTECHAMBER_PUBLIC_URL",
    show_envvar=True,
    help="Address browsers use, behind a proxy with TLS.",
)
@click.option(
    "--client-address-header",
    envvar="ANTECHAMBER_CLIENT_ADDRESS_HEADER",
    show_envvar=True,
    metavar="NAME",
    help="Header in which your proxy sets or appends the client's address, e.g. X-Forwarded-For; its last address "
    "counts. With it failed sign-ins are limited by address too. Only behind a proxy that always writes it.",
)
@click.option(
    "--pin-url",
    envvar="ANTECHAMBER_PIN_URL",
    show_envvar=True,
    help="Address outside that gets each signed checkpoint by POST.",
)
@click.option(
    "--read-database-url",
    envvar="ANTECHAMBER_READ_DATABASE_URL",
    show_envvar=True,
    metavar="URL",
    help="Streaming standby of --database-url that serves reads; the URL may list several hosts.",
)
@click.option(
    "--require-synchronous",
    is_flag=True,
    envvar="ANTECHAMBER_REQUIRE_SYNCHRONOUS",
    show_envvar=True,
    help="Start only if PostgreSQL cannot lose an acknowledged commit in a failover; alarm if that changes.",
)
@click.option(
    "--log-format",
    type=click.Choice(["human", "json"]),
    default="human",
    show_default=True,
    envvar="ANTECHAMBER_LOG_FORMAT",
    show_envvar=True,
    help="Lines on standard error: for people, or a JSON object each. Their time is UTC.",
)
@click.option(
    "--access-log",
    is_flag=True,
    envvar="ANTECHAMBER_ACCESS_LOG",
    show_envvar=True,
    help="Also log a line for every request.",
)
@click.option(
    "--trace-url",
    envvar="ANTECHAMBER_TRACE_URL",
    show_envvar=True,
    metavar="URL",
    help="Collector that gets OpenTelemetry spans by OTLP, e.g. http://127.0.0.1:4318/v1/traces.",
)
def serve(  # noqa: PLR0913 -- one argument for each option
    *,
    location: Location,
    policies: Path | None,
    host: str,
    port: int,
    public_url: str | None,
    client_address_header: str | None,
    pin_url: str | None,
    read_database_url: str | None,
    require_synchronous: bool,
    log_format: LogFormat,
    access_log: bool,
    trace_url: str | None,
) -> None:
    """Run the service: HTTP for agents, the review desk for curators, one process.

    Stop it with Ctrl-C or SIGTERM; it answers what it accepted first.
    """
    settings = Settings(
        data=location.data,
        policies=policies_in_use(location.data, policies),
        database_url=location.database_url,
        checkpoint_file=location.checkpoint_file,
        pin_url=pin_url,
        read_database_url=read_database_url,
        require_synchronous=require_synchronous,
        host=host,
        port=port,
        public_url=public_url,
        access_log=access_log,
        trace_url=trace_url,
        client_address_header=client_address_header,
    )
    configure(log_format, logging.INFO)
    with permanent():
        from antechamber.app.server import serve as run  # noqa: PLC0415 -- imports the whole web layer

    try:
        settings.check()
        with _sending_spans(settings.trace_url):
            run(settings, partial(_ready, settings.url, log_format))
    except AntechamberError as error:
        fail(error)


def _sending_spans(url: str | None) -> contextlib.AbstractContextManager[None]:
    """Return a context in which spans are sent to the collector at `url`, if there is one.

    Raises AntechamberError if the extra is missing.
    """
    if url is None:
        return contextlib.nullcontext()
    try:
        from antechamber.span_sender import sending_spans  # noqa: PLC0415 -- an optional extra
    except ImportError:
        message = f"--trace-url needs OpenTelemetry. {how_to_install('tracing')}"
        raise AntechamberError(message) from None
    return sending_spans(url)


def _ready(url: str, log_format: LogFormat) -> str:
    """Return the one line on standard output, which scripts wait for."""
    if log_format == "human":
        return f"Antechamber is ready: {url}  (desk: {url}/review)"
    line = {
        "time": format_moment(time.time()),
        "level": "info",
        "message": "ready",
        "url": url,
        "desk": f"{url}/review",
    }
    return json.dumps(line)


@click.command()
@click.option(
    "--move",
    is_flag=True,
    help="Also move what the folder's own database holds into the empty PostgreSQL database. Stop the service first.",
)
@click.option("--dry-run", is_flag=True, help="Only list the steps that would be taken.")
@location_options
@json_option
def migrate(location: Location, *, move: bool, dry_run: bool, as_json: bool) -> None:
    """Make the schema, or bring an older one up to date. Make a backup first.

    Without --database-url it makes the folder and its schema, as `serve` does. In a PostgreSQL database it also makes
    two roles: one for admission, which cannot make a memory, and one for promotion. Run it as the database's owner.
    """
    if move and location.database_url is None:
        message = "--move needs --database-url: where the data is to be moved"
        raise click.UsageError(message)
    if dry_run:
        _list_steps(location, move=move, as_json=as_json)
        return
    moved: dict[str, int] = {}

    def report(table: str, rows: int) -> None:
        moved[table] = rows
        if rows:
            click.echo(f"{rows:>9}  {table}", err=True)

    try:
        taken = app.migrate(location, report if move else None)
    except AntechamberError as error:
        fail(error)
    if as_json:
        show({"taken": taken} | ({"moved": moved} if move else {}))
    else:
        # The log on standard error names the first and the last step.
        steps = f"Took {len(taken)} step{'s' * (len(taken) > 1)}. " if taken else ""
        click.echo(f"{steps}The schema is up to date.")
        if move:
            click.echo(f"Moved {counted(sum(moved.values()), 'row')}. The file in {location.data} is retired:")
            click.echo("name the database in each command from now on, with --database-url or its variable.")


def _list_steps(location: Location, *, move: bool, as_json: bool) -> None:
    """Print the steps that a migration would take."""
    if move:
        message = "--dry-run does not look at what --move would move; leave one of them out"
        raise click.UsageError(message)
    try:
        pending = app.list_pending_steps(location)
    except AntechamberError as error:
        fail(error)
    if as_json:
        show({"pending": pending})
    elif pending:
        click.echo("\n".join(["Would take:", *pending]))
    else:
        click.echo("The schema is up to date.")


@click.command()
@click.option(
    "--pinned",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A checkpoint that was kept elsewhere: the log has to begin with what it says.",
)
@location_options
@json_option
def doctor(location: Location, pinned: Path | None, *, as_json: bool) -> None:
    """Check a data folder: the file itself, every hash, the approvals of each memory, and the log.

    It changes no data; where other users could read files of the folder, it takes that right away and says so. The
    log's tree is computed again from all leaves, and compared with every change and every checkpoint.
    """
    try:
        findings = app.examine(location, None if pinned is None else pinned.read_bytes().decode("utf-8", "replace"))
    except AntechamberError as error:
        fail(error)
    if as_json:
        show({"healthy": not findings, "findings": findings})
    else:
        say("\n".join(findings) if findings else "Healthy: the file, all hashes, all approvals and the log hold.")
    if findings:
        sys.exit(1)
