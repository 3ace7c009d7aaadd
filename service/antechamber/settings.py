"""Settings of the service: data location, listening address, trusted proxies."""

import ipaddress
import re
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from msgspec import Struct

from antechamber.core.addresses import HIDDEN, has_secrets, is_address, is_database, redact_address
from antechamber.core.errors import AntechamberError

DATABASE: Final = "antechamber.db"


_FIELD: Final = re.compile("[A-Za-z0-9-]+")


_NO_ADDRESSES: Final = frozenset({"forwarded", "host", "via"})
"""Similar headers with other content: Forwarded contains more than addresses (RFC 7239)."""


LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


class SettingsError(AntechamberError):
    """Settings that cannot work; the text states what to change."""


class Location(Struct, frozen=True, kw_only=True):
    """Where data is kept: a folder with the secret, and the database in the folder or at an address."""

    data: Path
    database_url: str | None = None
    """Address of a PostgreSQL database; without one, SQLite in the folder."""
    checkpoint_file: Path | None = None
    """File of the last signed checkpoint; by default in the folder."""

    def check(self) -> None:
        """Refuse an address that is not PostgreSQL's.

        Raises SettingsError.
        """
        if self.database_url is not None:
            _check_database("--database-url", self.database_url, "keep everything in the data folder")


class Settings(Struct, frozen=True, kw_only=True):
    """All settings of `serve`."""

    data: Path
    policies: Path
    database_url: str | None = None
    checkpoint_file: Path | None = None
    read_database_url: str | None = None
    """Address of a streaming standby of that PostgreSQL, which is read where it is as new as the primary."""
    require_synchronous: bool = False
    """Whether the database must not be able to lose a commit that it acknowledged."""
    pin_url: str | None = None
    """Address to which each signed checkpoint is posted."""
    host: str = "127.0.0.1"
    port: int = 8080
    public_url: str | None = None
    """Address that browsers use, if a proxy with TLS is in front."""
    trace_url: str | None = None
    """Address of the collector to which OpenTelemetry spans are sent."""
    access_log: bool = False
    """Whether the log has a line for each request."""
    client_address_header: str | None = None
    """Header in which that proxy reports the client's address, such as X-Forwarded-For."""

    @property
    def location(self) -> Location:
        """Where data is kept."""
        return Location(data=self.data, database_url=self.database_url, checkpoint_file=self.checkpoint_file)

    @property
    def url(self) -> str:
        """The address to print and to compare origins with."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.public_url.rstrip("/") if self.public_url else f"http://{host}:{self.port}"

    @property
    def secure(self) -> bool:
        """Whether browsers reach this service over TLS."""
        return self.url.startswith("https://")

    @property
    def hosts(self) -> list[str]:
        """Host names that requests may use: a defense against DNS rebinding."""
        public = urlsplit(self.url).hostname or ""
        return sorted({*LOOPBACK, self.host, public, "[::1]"})

    def check(self) -> None:
        """Refuse settings that cannot work, or that would send sign-ins over a network unencrypted.

        Raises SettingsError.
        """
        self.location.check()
        self._check_servers()
        if self.public_url is not None:
            _check_public(self.public_url)
        if self.pin_url is not None and (not is_address(self.pin_url) or redact_address(self.pin_url) == HIDDEN):
            message = (
                f"--pin-url {redact_address(self.pin_url)} is no address; "
                "write it like https://pins.example.org/antechamber, "
                "and special characters of a password as %40 for @, %2F for / and so on"
            )
            raise SettingsError(message)
        if self.trace_url is not None:
            _check_collector(self.trace_url)
        header = self.client_address_header
        if header is not None and (not _FIELD.fullmatch(header) or header.lower() in _NO_ADDRESSES):
            message = (
                f"--client-address-header {header} cannot be used: name a header whose last item is an address, as in "
                "X-Forwarded-For or X-Real-IP"
            )
            raise SettingsError(message)
        if not is_loopback(self.host) and not self.secure:
            message = (
                f"--host {self.host} is reachable from other machines, and sign-ins would cross the network in the "
                "clear. Put a proxy with TLS in front and name its address with --public-url https://…"
            )
            raise SettingsError(message)

    def _check_servers(self) -> None:
        """Refuse settings of PostgreSQL beside SQLite, and an address of a standby that is not PostgreSQL's."""
        if self.read_database_url is not None:
            if self.database_url is None:
                message = (
                    "--read-database-url names a standby of PostgreSQL; SQLite has none. Give --database-url too, or "
                    "leave it out"
                )
                raise SettingsError(message)
            _check_database("--read-database-url", self.read_database_url, "read the primary")
        if self.require_synchronous and self.database_url is None:
            message = "--require-synchronous is about PostgreSQL; give --database-url too, or leave it out"
            raise SettingsError(message)


def _check_database(option: str, url: str, without: str) -> None:
    """Refuse an address that is not PostgreSQL's; `without` says what happens without the option.

    Raises SettingsError.
    """
    if not url.startswith(("postgresql://", "postgres://")):
        message = f"{option} must begin with postgresql:// ; leave it out to {without}"
        raise SettingsError(message)
    if not is_database(url):
        message = (
            f"{option} cannot be read; write it like postgresql://user:password@host:5432/name, and special "
            "characters of the password as %40 for @, %2F for / and so on"
        )
        raise SettingsError(message)


def is_loopback(host: str) -> bool:
    """Return whether a name or address is loopback (RFC 1122 section 3.2.1.3: all of 127.0.0.0/8)."""
    try:
        return host in LOOPBACK or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_public(url: str) -> None:
    """Refuse an address that browsers cannot use, or that would show a secret where it is printed and linked.

    Raises SettingsError.
    """
    if not is_address(url):
        message = f"--public-url {redact_address(url)} is no address; write it as browsers do: https://desk.example.org"
        raise SettingsError(message)
    if has_secrets(url):
        message = (
            f"--public-url is printed and linked; write it without user name, password and query: {redact_address(url)}"
        )
        raise SettingsError(message)


def _check_collector(url: str) -> None:
    """Refuse an address that spans cannot be sent to, or that has a secret, which the sender would repeat in the log.

    Raises SettingsError.
    """
    if not is_address(url):
        message = f"--trace-url {redact_address(url)} is no address; write it like http://127.0.0.1:4318/v1/traces"
        raise SettingsError(message)
    if has_secrets(url):
        message = (
            f"--trace-url {redact_address(url)} must have no user name, password and query: name what the collector "
            "asks for in the variable OTEL_EXPORTER_OTLP_HEADERS"
        )
        raise SettingsError(message)
