"""Settings of one service, and its policy files, read and checked before anything uses them."""

import contextlib
import difflib
import ipaddress
import os
import re
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import msgspec
from blake3 import blake3
from msgspec import Struct, field

from antechamber.core.addresses import HIDDEN, has_secrets, is_address, is_database, shown
from antechamber.core.contract import PRODUCER, SCOPES, Scope
from antechamber.core.errors import AntechamberError, PolicyError
from antechamber.core.policy import Case, Guideline, Limits, Policy, Privacy, Producer, Rules, ScopeRules
from antechamber.core.policy_help import IDENTITY, explain_value
from antechamber.core.privacy import RULES
from antechamber.core.rehearsal import failures

DATABASE: Final = "antechamber.db"
SECRET: Final = "secret.key"  # noqa: S105 -- a file name
SECRET_BYTES: Final = 32
TESTS: Final = "tests.toml"
_FIELD: Final = re.compile("[A-Za-z0-9-]+")
_NO_ADDRESSES: Final = frozenset({"forwarded", "host", "via"})
"""Headers that are near, and hold something else: Forwarded names more than addresses (RFC 7239)."""
LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


class SettingsError(AntechamberError):
    """Settings that cannot work; the text says what to change."""


class Place(Struct, frozen=True, kw_only=True):
    """Where everything is kept: a folder with the secret, and the database in it or at an address."""

    data: Path
    database_url: str | None = None
    """Address of a PostgreSQL database; without one, SQLite in the folder."""
    checkpoint_file: Path | None = None
    """Where the last signed checkpoint is kept; by default in the folder."""

    def check(self) -> None:
        """Refuse an address that is none of PostgreSQL's.

        Raises SettingsError.
        """
        if self.database_url is None:
            return
        if not self.database_url.startswith(("postgresql://", "postgres://")):
            message = (
                "--database-url must begin with postgresql:// ; leave it out to keep everything in the data folder"
            )
            raise SettingsError(message)
        if not is_database(self.database_url):
            message = (
                "--database-url cannot be read; write it like postgresql://user:password@host:5432/name, and special "
                "characters of the password as %40 for @, %2F for / and so on"
            )
            raise SettingsError(message)


class Settings(Struct, frozen=True, kw_only=True):
    """Everything `serve` needs to know."""

    data: Path
    policies: Path
    database_url: str | None = None
    checkpoint_file: Path | None = None
    pin_url: str | None = None
    """Address that gets each signed checkpoint."""
    host: str = "127.0.0.1"
    port: int = 8080
    public_url: str | None = None
    """Address that browsers use, where a proxy with TLS stands in front."""
    client_address_header: str | None = None
    """Header in which that proxy names the client's address, as X-Forwarded-For does."""

    @property
    def place(self) -> Place:
        """Where everything is kept."""
        return Place(data=self.data, database_url=self.database_url, checkpoint_file=self.checkpoint_file)

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
        """Host names that requests may name: a defense against DNS rebinding."""
        public = urlsplit(self.url).hostname or ""
        return sorted({*LOOPBACK, self.host, public, "[::1]"})

    def check(self) -> None:
        """Refuse to send sign-ins in the clear over a network.

        Raises SettingsError.
        """
        self.place.check()
        if self.public_url is not None:
            _check_public(self.public_url)
        if self.pin_url is not None and (not is_address(self.pin_url) or shown(self.pin_url) == HIDDEN):
            message = (
                f"--pin-url {shown(self.pin_url)} is no address; write it like https://pins.example.org/antechamber, "
                "and special characters of a password as %40 for @, %2F for / and so on"
            )
            raise SettingsError(message)
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


def is_loopback(host: str) -> bool:
    """Tell whether a name or address reaches this machine only (RFC 1122 section 3.2.1.3: all of 127.0.0.0/8)."""
    try:
        return host in LOOPBACK or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_public(url: str) -> None:
    """Refuse an address that browsers cannot use, or that would show a secret where it is printed and linked.

    Raises SettingsError.
    """
    if not is_address(url):
        message = f"--public-url {shown(url)} is no address; write it as browsers do: https://desk.example.org"
        raise SettingsError(message)
    if has_secrets(url):
        message = f"--public-url is printed and linked; write it without user name, password and query: {shown(url)}"
        raise SettingsError(message)


def load_secret(data: Path, *, begun: bool | None = None) -> bytes:
    """Return the folder's secret, made at first use with mode 0600; it never enters the database.

    `begun` tells that the database was used before; by default a file in the folder does.

    Raises SettingsError where it is damaged, or missing beside a database that was used.
    """
    path = data / SECRET
    # Asked first, because the secret is always made before the database: another process may be making both.
    begun = (data / DATABASE).exists() if begun is None else begun
    if not path.exists():
        if begun:
            message = (
                f"{path} is missing, but the database is there. Restore the file from the backup of this folder, or "
                "copy it from the machine that made the database: without it replays of private submissions are not "
                "recognized."
            )
            raise SettingsError(message)
        _write_secret(path)
    secret = path.read_bytes()
    if len(secret) != SECRET_BYTES:
        message = f"{path} is damaged: it must hold {SECRET_BYTES} bytes. Restore it from the backup of this folder."
        raise SettingsError(message)
    return secret


def secret_check(secret: bytes) -> str:
    """Return what the database may know of a secret: enough to tell another one, nothing to guess it by."""
    return blake3(b"antechamber secret.key", key=secret).hexdigest()


def _write_secret(path: Path) -> None:
    """Write the secret under another name first: a crash leaves none or a whole one, and the first process wins."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_suffix(f".{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secrets.token_bytes(SECRET_BYTES))
        file.flush()
        os.fsync(file.fileno())
    with contextlib.suppress(FileExistsError):
        path.hardlink_to(draft)
    draft.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


class ProducersFile(Struct, frozen=True, forbid_unknown_fields=True):
    """`producers.toml`."""

    producer: list[Producer] = []


class ScopesFile(Struct, frozen=True, forbid_unknown_fields=True):
    """`scopes.toml`."""

    defaults: Rules = field(default_factory=Rules)
    scope: dict[Scope, ScopeRules] = {}
    limits: Limits = field(default_factory=Limits)


class PrivacyFile(Struct, frozen=True, forbid_unknown_fields=True):
    """`privacy.toml`."""

    off: list[str] = []


class GuidelinesFile(Struct, frozen=True, forbid_unknown_fields=True):
    """`guidelines.toml`."""

    guideline: list[Guideline] = []


class TestsFile(Struct, frozen=True, forbid_unknown_fields=True):
    """`tests.toml`."""

    test: list[Case] = []


_FILES: Final[dict[str, type[Struct]]] = {
    "producers.toml": ProducersFile,
    "scopes.toml": ScopesFile,
    "privacy.toml": PrivacyFile,
    "guidelines.toml": GuidelinesFile,
    TESTS: TestsFile,
}
_UNKNOWN: Final = re.compile(r"unknown field `(.+?)`(?: - at `\$(.*)`)?")
_UNKNOWN_SCOPE: Final = re.compile(
    r"Invalid enum value '(.*)' - at `(?:key` in `\$\.(scope)|\$\.(guideline\[.*\]\.scopes)\[.*\])`"
)
_KEYS: Final = {
    "producer": Producer,
    "defaults": Rules,
    "scope": ScopeRules,
    "limits": Limits,
    "guideline": Guideline,
    "test": Case,
}


def read_policy(folder: Path) -> Policy:
    """Read the policy files of a folder, check them and run their decision tables.

    Raises PolicyError, whose text names file, key and what to write instead.
    """
    if not folder.is_dir():
        message = f"{folder} is no folder; name one that holds producers.toml"
        raise PolicyError(message)
    unknown = sorted({file.name for file in folder.glob("*.toml")} - _FILES.keys())
    if unknown:
        message = f"{unknown[0]}: no such policy file{_instead(unknown[0], _FILES)}"
        raise PolicyError(message)
    producers = _decode(folder, "producers.toml", ProducersFile)
    scopes = _decode(folder, "scopes.toml", ScopesFile)
    privacy = _decode(folder, "privacy.toml", PrivacyFile)
    guidelines = _decode(folder, "guidelines.toml", GuidelinesFile)
    tests = _decode(folder, TESTS, TestsFile)
    policy = Policy(
        producers=_by_identity(producers.producer),
        defaults=scopes.defaults,
        scopes=_over_shipped(scopes.scope),
        limits=scopes.limits,
        privacy=Privacy(off=_known_rules(privacy.off)),
        guidelines=guidelines.guideline,
        cases=tests.test,
    )
    for case in policy.cases:
        _check_case(case)
    if broken := failures(policy):
        raise PolicyError("\n".join(f"{TESTS}: {line}" for line in broken))
    return policy


def _over_shipped(own: dict[Scope, ScopeRules]) -> dict[Scope, ScopeRules]:
    """Lay what a file says over what is shipped, key by key: narrower kinds do not drop the second curator."""
    merged = dict(Policy().scopes)
    for scope, rules in own.items():
        said = {name: value for name in rules.__struct_fields__ if (value := getattr(rules, name)) is not None}
        merged[scope] = msgspec.structs.replace(merged.get(scope, ScopeRules()), **said)
    return merged


def _check_case(case: Case) -> None:
    place = f'{TESTS}: test "{case.name}"'
    scope = case.scope.partition(":")[0]
    if scope not in SCOPES:
        message = f'{place}: "{case.scope}" names no scope{_instead(scope, SCOPES)}'
        raise PolicyError(message)
    if isinstance(case.producer, Producer):
        _check_grants(place, case.producer)
    elif not PRODUCER.fullmatch(case.producer):
        message = f'{place}: producer cannot be "{case.producer}"; write {IDENTITY}'
        raise PolicyError(message)


_F = TypeVar("_F", ProducersFile, ScopesFile, PrivacyFile, GuidelinesFile, TestsFile)


def _decode(folder: Path, name: str, form: type[_F]) -> _F:
    """Decode one file; a missing one is the shipped default, which admits nobody."""
    try:
        document = msgspec.toml.decode((folder / name).read_bytes())
    except FileNotFoundError:
        return form()
    except msgspec.DecodeError as error:
        message = f"{name}: this is no TOML: {error}"
        raise PolicyError(message) from None
    except (OSError, UnicodeDecodeError) as error:
        message = f"{name}: cannot be read: {error}"
        raise PolicyError(message) from None
    try:
        return msgspec.convert(document, form)
    except msgspec.ValidationError as error:
        raise _explain(name, error, form, document) from None


def _by_identity(producers: list[Producer]) -> dict[str, Producer]:
    found: dict[str, Producer] = {}
    for producer in producers:
        if producer.identity in found:
            message = f"producers.toml: {producer.identity} is listed twice; keep one [[producer]] for it"
            raise PolicyError(message)
        _check_grants("producers.toml", producer)
        found[producer.identity] = producer
    return found


def _check_grants(place: str, producer: Producer) -> None:
    for grant in (*producer.submit, *producer.read):
        scope = grant.partition(":")[0]
        if scope != "*" and scope not in SCOPES:
            message = f'{place}: {producer.identity}: "{grant}" names no scope{_instead(scope, SCOPES)}'
            raise PolicyError(message)


def _known_rules(off: list[str]) -> list[str]:
    names = [rule.rule_id for rule in RULES]
    for name in off:
        if name not in names:
            message = f'privacy.toml: off: "{name}" is no rule{_instead(name, names)}'
            raise PolicyError(message)
    return off


def _instead(word: str, known: Iterable[str]) -> str:
    """Say what to write instead: the nearest known word, else all of them."""
    names = list(known)
    near = difflib.get_close_matches(word, names, n=1)
    return f'; write "{near[0]}"' if near else "; known are " + ", ".join(names)


def _explain(name: str, error: msgspec.ValidationError, form: type[Struct], document: Any) -> PolicyError:
    """Turn msgspec's message into one that names file, key and remedy."""
    text = str(error)
    if found := _UNKNOWN_SCOPE.fullmatch(text):
        scope, place = found.group(1), found.group(3) or f"scope.{found.group(1)}"
        return PolicyError(f'{name}: [{place}]: "{scope}" is no scope{_instead(scope, SCOPES)}')
    match = _UNKNOWN.search(text)
    if match is None:
        return PolicyError(f"{name}: {explain_value(text, document) or text}")
    key, place = match.group(1), (match.group(2) or "").strip(".")
    if key in {"test", "tests"} and not place:
        renamed = "" if key == "test" else " and call it [[test]]"
        return PolicyError(f"{name}: tests belong in {TESTS}; move each [[{key}]] there{renamed}")
    table = "producer" if ".producer" in place else place.split("[")[0].split(".")[0]
    known = _KEYS.get(table, form).__struct_fields__
    where = f" in [{place}]" if place else ""
    return PolicyError(f'{name}: unknown key "{key}"{where}{_instead(key, known)}')
