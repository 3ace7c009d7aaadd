"""The data folder's secrets: the key of commitments and cookies, and the key that wraps those of sealed events."""

import secrets
from pathlib import Path
from typing import Final

from blake3 import blake3

from antechamber import durable_files
from antechamber.settings import DATABASE, SettingsError

SECRET: Final = "secret.key"  # noqa: S105 -- a file name
QUARANTINE_KEY: Final = "quarantine.key"

SECRET_BYTES: Final = 32


def load_secret(data: Path, *, begun: bool | None = None) -> bytes:
    """Return the folder's secret, created at first use with mode 0600; it is never stored in the database.

    `begun` states whether the database was used before; by default a database file in the folder means that.

    Raises SettingsError if it is damaged, cannot be read, or is missing beside a database that was used.
    """
    path = data / SECRET
    # Checked first, because the secret is always created before the database: another process may be creating both.
    begun = (data / DATABASE).exists() if begun is None else begun
    if not path.exists():
        if begun:
            message = (
                f"{path} is missing, but the database is there. Restore the file from the backup of this folder, or "
                "copy it from the machine that made the database: without it replays of private submissions are not "
                "recognized."
            )
            raise SettingsError(message)
        _create(path)
    return _read(path)


def load_quarantine_key(data: Path) -> bytes:
    """Return the folder's key for sealed events, created at first use with mode 0600; it is never in the database.

    Events that were sealed with a lost key cannot be decrypted again, and expire.

    Raises SettingsError if it is damaged or cannot be read.
    """
    path = data / QUARANTINE_KEY
    if not path.exists():
        _create(path)
    return _read(path)


def _create(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        durable_files.create(path, secrets.token_bytes(SECRET_BYTES))
    except OSError as error:
        raise _unusable(path, error) from None


def _unusable(path: Path, error: OSError) -> SettingsError:
    return SettingsError(f"the data folder {path.parent} cannot be used: {durable_files.explain(error, path)}")


def _read(path: Path) -> bytes:
    try:
        secret = path.read_bytes()
    except OSError as error:
        raise _unusable(path, error) from None
    if len(secret) != SECRET_BYTES:
        message = f"{path} is damaged: it must hold {SECRET_BYTES} bytes. Restore it from the backup of this folder."
        raise SettingsError(message)
    return secret


def secret_check(secret: bytes) -> str:
    """Return a value for the database that distinguishes the secret from another one without revealing it."""
    return blake3(b"antechamber secret.key", key=secret).hexdigest()
