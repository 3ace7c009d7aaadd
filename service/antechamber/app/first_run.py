"""The first run: a new data folder with a policy of its own."""

from pathlib import Path

from antechamber import durable_files
from antechamber.app.data_folder import POLICIES
from antechamber.core.policy import Policy
from antechamber.policy_files import read_policy
from antechamber.settings import SettingsError

_DRAFT = ".new"


def write_first_policy(data: Path, producers: str) -> tuple[Path, Policy]:
    """Make a folder with the policy of a text for `producers.toml`; return the policy's folder and the policy.

    What an attempt that was killed left behind does not count as content.

    Raises SettingsError if the folder is not empty or cannot be written.
    """
    refuse_used(data)
    folder = data / POLICIES
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        data.chmod(0o700)
        durable_files.make_folder(folder)
        durable_files.create(folder / "producers.toml", producers.encode())
        durable_files.sync_folder(data)
    except OSError as error:
        raise _unusable(data, error) from None
    return folder, read_policy(folder)


def refuse_used(data: Path) -> None:
    """Refuse a folder that holds anything.

    Raises SettingsError.
    """
    try:
        found = [path for path in data.rglob("*") if path != data / POLICIES and path.suffix != _DRAFT]
    except OSError as error:
        raise _unusable(data, error) from None
    if found:
        message = f"{data} is not empty; name a new folder. To change a policy, edit its files: {data / POLICIES}"
        raise SettingsError(message)


def _unusable(data: Path, error: OSError) -> SettingsError:
    return SettingsError(f"the folder {data} cannot be used: {durable_files.explain(error, data)}")
